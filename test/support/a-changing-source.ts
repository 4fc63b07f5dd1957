import {
  type Change,
  defineTool,
  defineView,
  definitionSource,
  type Source,
  z,
} from '../../src/index.ts'

/** A source whose definitions can be changed while it is served. */
export function aChangingSource() {
  let announce: (change: Change) => void = () => {}
  let version = 1
  const definitions = () => [
    defineTool({
      name: 'ping',
      description: `Answers, in its version ${version}.`,
      category: 'analysis',
      schema: z.object({}),
      execute: () => 'pong',
    }),
    ...['lamp://hall', 'lamp://attic'].map((uri) =>
      defineView({
        uri,
        name: uri.slice(7),
        description: 'Whether it is on.',
        read: () => version,
      }),
    ),
  ]
  const source: Source = {
    id: 'changing',
    read: () => definitionSource(definitions(), 'changing').read(),
    watch: (listener) => {
      announce = listener
      return () => {
        announce = () => {}
      }
    },
  }
  return {
    source,
    changeTools: () => {
      version++
      announce({ kind: 'reading' })
    },
    update: (uri: string) => announce({ kind: 'view', uri }),
  }
}
