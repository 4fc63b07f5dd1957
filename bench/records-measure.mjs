/** CPU milliseconds of one run, of each contestant, taking turns; medians over rounds. */
export async function compare(contestants, { rounds = 15, runs = 1, warm = 1 } = {}) {
  const times = new Map(Object.keys(contestants).map((name) => [name, []]))
  for (let round = -warm; round < rounds; round++)
    for (const [name, work] of Object.entries(contestants)) {
      const before = process.cpuUsage()
      for (let run = 0; run < runs; run++) await work()
      const { user, system } = process.cpuUsage(before)
      if (round >= 0) times.get(name).push((user + system) / 1000 / runs)
    }
  return Object.fromEntries([...times].map(([name, list]) => [name, quantile(list, 0.5)]))
}

export const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)]

/** The longest time nobody else had a turn, in wall milliseconds, while something is done. */
export async function longestBlock(work) {
  let last = performance.now()
  let longest = 0
  let going = true
  const tick = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (going) setImmediate(tick)
  }
  setImmediate(tick)
  await work()
  going = false
  tick()
  return longest
}

/** How long the machine keeps a loop that does nothing waiting: others are busy on it, too. */
export const idleBlock = (milliseconds) =>
  longestBlock(() => new Promise((resolve) => setTimeout(resolve, milliseconds)))

export function printTable(rows) {
  console.log('| | floor | Drawbridge | ratio | asked | met |')
  console.log('| --- | ---: | ---: | ---: | ---: | --- |')
  for (const { what, floor, ours, ratio, asked, atLeast, unit = 'ms' } of rows) {
    const met =
      asked === undefined ? '' : (atLeast ? ratio >= asked : ratio <= asked) ? 'yes' : '**no**'
    const sign = asked === undefined ? '' : `${atLeast ? '≥' : '≤'} ${asked}`
    console.log(
      `| ${what} | ${toNumber(floor)}${floor === undefined ? '' : ` ${unit}`} | ${toNumber(ours)} ${unit} | ${toNumber(ratio)} | ${sign} | ${met} |`,
    )
  }
}

const toNumber = (value) =>
  value === undefined
    ? ''
    : value >= 1000
      ? Math.round(value).toLocaleString('en')
      : Number(value.toPrecision(3)).toString()
