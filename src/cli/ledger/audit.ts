import { setTimeout as sleep } from 'node:timers/promises'
import { defineCommand } from 'citty'
import { type AuditRecord, openStore } from '../../runtime/open-store.ts'
import { jsonFlag } from '../terminal/flags.ts'
import { print, printJson, say } from '../terminal/print.ts'

export const audit = defineCommand({
  meta: {
    name: 'audit',
    description: 'Who called what, with what outcome; --verify follows the chain of digests.',
  },
  args: {
    what: {
      type: 'positional',
      required: false,
      default: '.',
      description: 'whose store is meant',
    },
    follow: { type: 'boolean', description: 'go on as calls happen' },
    verify: { type: 'boolean', description: 'check that no record was changed or removed' },
    caller: { type: 'string', description: 'only of this caller' },
    capability: { type: 'string', description: 'only of this tool' },
    outcome: { type: 'string', description: 'only done, failed or asking' },
    limit: { type: 'string', default: '100', description: 'the latest so many' },
    json: jsonFlag,
  },
  async run({ args }) {
    const store = await openStore(args.what, process.env, (error) => say(String(error)))
    try {
      if (args.verify) {
        const { count, broken } = store.audit.verify()
        if (args.json) printJson({ count, ...(broken && { broken }) })
        else if (broken)
          print(`Record ${broken.number}: ${broken.reason}. ${count} before it are sound.`)
        else print(`${count} records, all sound.`)
        return broken ? 1 : 0
      }
      const wanted = ({ entry }: AuditRecord): boolean =>
        (args.caller === undefined || entry.caller === args.caller) &&
        (args.capability === undefined || entry.capability === args.capability) &&
        (args.outcome === undefined || entry.outcome === args.outcome)
      let next = 0
      const latest: AuditRecord[] = []
      for (const record of store.audit.records(0)) {
        next = record.number + 1
        if (!wanted(record)) continue
        latest.push(record)
        if (latest.length > Number(args.limit)) latest.shift()
      }
      const show = (record: AuditRecord) => print(args.json ? toJsonLine(record) : toLine(record))
      if (args.json && !args.follow) printJson(latest.map(toItem))
      else for (const record of latest) show(record)
      if (!args.follow) return 0
      say('Following; Ctrl-C ends it.')
      for (;;) {
        await sleep(250)
        for (const record of store.audit.records(next)) {
          next = record.number + 1
          if (wanted(record)) show(record)
        }
      }
    } finally {
      await store.close()
    }
  },
})

const toItem = ({ number, hash, entry }: AuditRecord) => {
  const { id, ...rest } = entry
  return { id: String(number), hash, ...(id !== undefined && { call: id }), ...rest }
}

const toJsonLine = (record: AuditRecord): string => JSON.stringify(toItem(record))

function toLine({ number, entry }: AuditRecord): string {
  const { at, event, caller = '-', capability = '-', outcome = '', code = '', duration, by } = entry
  const words = [
    String(number).padStart(6),
    new Date(at).toISOString(),
    event.padEnd(8),
    caller,
    capability,
    outcome,
    code,
    ...(duration === undefined ? [] : [`${duration} ms`]),
    ...(by === undefined ? [] : [`by ${by}`]),
    ...(entry.decisions ?? []).map(({ step, decision, note }) => `${step}:${note ?? decision}`),
  ]
  return words.filter((word) => word !== '').join(' ')
}
