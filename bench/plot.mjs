// Draws the gates of a run: node bench/plot.mjs RESULTS.json [PREFIX], where RESULTS.json comes from
// `npm run bench -- --json`. Writes PREFIX-light.svg and PREFIX-dark.svg.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './paths.mjs'
import { toPreciseNumber } from './report.mjs'

const themes = {
  light: {
    text: '#1f2328',
    muted: '#59636e',
    line: '#d1d9e0',
    before: '#b6bfc9',
    met: '#0969da',
    missed: '#bc4c00',
    gate: '#1f2328',
  },
  dark: {
    text: '#f0f6fc',
    muted: '#9198a1',
    line: '#3d444d',
    before: '#545d68',
    met: '#4493f8',
    missed: '#db6d28',
    gate: '#f0f6fc',
  },
}

const width = 840
const barsLeft = 312
/** The gate of every row stands here, so that the bars of all rows can be compared. */
const gateX = 540
const barsRight = 772
const rowHeight = 42
const barHeight = 11

const panels = [
  { bound: 'at least', title: 'Capacity: a bar should reach its gate' },
  { bound: 'at most', title: 'Cost: a bar should end before its gate' },
]

/**
 * Bars from before and now for each gate, on a scale of its own where the gate is one. Bars that are too
 * long are cut; the numbers are the measured ones.
 *
 * @param {{ machine: string, gates: import('./gates.mjs').Verdict[] }} report
 * @param {keyof typeof themes} theme
 */
export const toPlot = ({ machine, gates }, theme) => {
  const colors = themes[theme]
  const parts = []
  let y = 58
  for (const { bound, title } of panels) {
    const rows = gates.filter((gate) => gate.bound === bound && gate.now !== undefined)
    if (rows.length === 0) continue
    const top = y + 14
    parts.push(text(16, y, title, { size: 14, weight: 600, fill: colors.text }))
    y = top
    for (const row of rows) {
      parts.push(...toRow(row, y, colors))
      y += rowHeight
    }
    parts.push(
      `<path d="M${barsLeft} ${top}V${y - 6}" stroke="${colors.line}" stroke-width="1.2"/>`,
      `<path d="M${gateX} ${top}V${y - 6}" stroke="${colors.gate}" stroke-width="1.6"/>`,
    )
    y += 30
  }
  const notes = machine.split('; ')
  const height = y + notes.length * 16 - 14
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc" font-family="ui-sans-serif, system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">
<title id="title">Performance of Drawbridge against its gates</title>
<desc id="desc">${escapeXml(toDescription(gates))}</desc>
${toLegend(colors).join('\n')}
${parts.join('\n')}
${notes.map((note, index) => text(16, y - 12 + index * 16, note, { size: 11, fill: colors.muted })).join('\n')}
</svg>
`
}

const toRow = (row, y, colors) => {
  const { title, unit, gate, stretch, before, now, met, bound } = row
  const sign = bound === 'at least' ? '≥' : '≤'
  const limits = `gate ${sign} ${gate}${stretch === undefined ? '' : `, stretch ${stretch}`}`
  const bars = [
    { value: before, fill: colors.before, label: colors.muted, weight: 400 },
    { value: now, fill: met ? colors.met : colors.missed, label: colors.text, weight: 600 },
  ].filter(({ value }) => value !== undefined)
  const firstBar = y + (rowHeight - 8 - bars.length * (barHeight + 2)) / 2
  return [
    text(16, y + 15, title, { size: 13, fill: colors.text }),
    text(16, y + 30, `${unit}; ${limits}`, { size: 11, fill: colors.muted }),
    ...bars.flatMap(({ value, fill, label, weight }, index) => {
      const top = firstBar + index * (barHeight + 2)
      // The numbers have a column of their own: beside the bars they would cover the gate.
      return [
        `<path d="${toBar(value / gate, top)}" fill="${fill}"/>`,
        text(barsRight + 12, top + barHeight - 1.5, toPreciseNumber(value), {
          size: 11.5,
          weight,
          fill: label,
        }),
      ]
    }),
    ...(stretch === undefined ? [] : [toStretchTick(stretch / gate, y, colors)]),
  ]
}

const toX = (ratio) => barsLeft + (gateX - barsLeft) * ratio

/** A bar that does not fit ends in a slanted cut with a second piece behind it. */
const toBar = (ratio, top) => {
  const bottom = top + barHeight
  // A value too small to see still has a bar.
  const right = Math.max(toX(ratio), barsLeft + 1)
  if (right <= barsRight)
    return `M${barsLeft} ${round(top)}H${round(right)}V${round(bottom)}H${barsLeft}z`
  const cut = barsRight - 16
  return (
    `M${barsLeft} ${round(top)}H${cut + 4}L${cut} ${round(bottom)}H${barsLeft}z` +
    `M${cut + 9} ${round(top)}H${barsRight}V${round(bottom)}H${cut + 5}z`
  )
}

const toStretchTick = (ratio, y, colors) => {
  const x = toX(ratio)
  if (x > barsRight) return ''
  return `<path d="M${round(x)} ${y + 1}V${y + rowHeight - 9}" stroke="${colors.gate}" stroke-width="1.2" stroke-dasharray="3 3"/>`
}

const toLegend = (colors) => {
  const y = 26
  const box = (x, fill, label) => [
    `<rect x="${x}" y="${y - 10}" width="14" height="11" fill="${fill}"/>`,
    text(x + 20, y, label, { size: 12, fill: colors.muted }),
  ]
  return [
    ...box(16, colors.before, 'before'),
    ...box(96, colors.met, 'now, gate met'),
    ...box(216, colors.missed, 'now, gate missed'),
    `<path d="M362 ${y - 11}V${y + 2}" stroke="${colors.gate}" stroke-width="1.6"/>`,
    text(370, y, 'gate', { size: 12, fill: colors.muted }),
    `<path d="M420 ${y - 11}V${y + 2}" stroke="${colors.gate}" stroke-width="1.2" stroke-dasharray="3 3"/>`,
    text(428, y, 'stretch', { size: 12, fill: colors.muted }),
  ]
}

/** The same in words, for those who cannot see the bars. */
const toDescription = (gates) =>
  gates
    .filter(({ now }) => now !== undefined)
    .map(({ title, unit, before, now, gate, bound }) => {
      const past = before === undefined ? '' : `before ${toPreciseNumber(before)}, `
      return `${title}: ${past}now ${toPreciseNumber(now)} ${unit}, ${bound} ${gate}.`
    })
    .join(' ')

const text = (x, y, content, { size, fill, weight = 400 }) =>
  `<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-weight="${weight}" fill="${fill}">${escapeXml(content)}</text>`

const round = (value) => Math.round(value * 10) / 10

const escapeXml = (content) =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [results, prefix = path.join(root, 'docs/images/performance')] = process.argv.slice(2)
  if (!results) throw new Error('Usage: node bench/plot.mjs RESULTS.json [PREFIX]')
  const report = JSON.parse(readFileSync(results, 'utf8'))
  for (const theme of Object.keys(themes))
    writeFileSync(`${prefix}-${theme}.svg`, toPlot(report, theme))
}
