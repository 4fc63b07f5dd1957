// Fills the store from the files beside, and gives out one grant over parts of both streams.
// The data is real and in the public domain: earthquakes of one week by the USGS, and the weather of
// 2015 in Seattle by NOAA, both as packaged by vega-datasets.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const cwd = fileURLToPath(new URL('.', import.meta.url))
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const drawbridge = (...words) =>
  execFileSync(process.execPath, [main, ...words], { cwd, encoding: 'utf8' })

const files = {
  'earthquakes.ndjson': ['earthquakes', 'usgs-week'],
  'weather.csv': ['weather', 'seattle'],
}
for (const [file, [stream, connection]] of Object.entries(files))
  process.stderr.write(
    drawbridge(
      'records',
      'import',
      file,
      '--streams',
      'streams.yaml',
      '--stream',
      stream,
      '--connection',
      connection,
    ),
  )
const grant = ['grants', 'create', '--client', 'example']
const quakes = ['--stream', 'earthquakes', '--fields', 'id,time,title,place,magnitude,url']
const weather = ['--stream', 'weather', '--since', '2015-06-01']
process.stdout.write(drawbridge(...grant, ...quakes, ...weather))
