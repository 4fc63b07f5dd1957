import { z } from 'zod'

const annotations = z
  .looseObject({
    audience: z.array(z.enum(['user', 'assistant'])).optional(),
    priority: z.number().min(0).max(1).optional(),
    lastModified: z.iso.datetime({ offset: true }).optional(),
  })
  .optional()

const shared = { annotations, _meta: z.looseObject({}).optional() }

const base64 = z.string().refine(isBase64, 'must be base64')

const toMedia = <Type extends 'image' | 'audio'>(type: Type) =>
  z
    .looseObject({ type: z.literal(type), data: z.string(), mimeType: z.string(), ...shared })
    .transform(withoutPrefix)
    .refine(({ data }) => isBase64(data), { path: ['data'], message: 'must be base64' })

const document = { uri: z.string(), mimeType: z.string().optional(), _meta: shared._meta }

const icon = z.looseObject({
  src: z.string(),
  mimeType: z.string().optional(),
  sizes: z.array(z.string()).optional(),
  theme: z.enum(['light', 'dark']).optional(),
})

/** A content block as official clients accept it: they refuse the whole result because of one that is invalid. */
export const contentShape = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string(), ...shared }),
  toMedia('image'),
  toMedia('audio'),
  z.looseObject({
    type: z.literal('resource'),
    resource: z.union([
      z.looseObject({ ...document, text: z.string() }),
      z.looseObject({ ...document, blob: base64 }),
    ]),
    ...shared,
  }),
  z.looseObject({
    type: z.literal('resource_link'),
    uri: z.string(),
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    mimeType: z.string().optional(),
    size: z.number().optional(),
    icons: z.array(icon).optional(),
    ...shared,
  }),
])

/** As `atob()` reads it, which official clients call; without a group that repeats, because V8 would run out of stack. */
function isBase64(text: string): boolean {
  const characters = text.replace(/[\t\n\f\r ]/g, '')
  const data = characters.length % 4 === 0 ? characters.replace(/={1,2}$/, '') : characters
  return /^[A-Za-z0-9+/]*$/.test(data) && data.length % 4 !== 1
}

/** A data URL is a common mistake: its prefix is removed if it has the type of the block. */
function withoutPrefix<T extends { readonly data: string; readonly mimeType: string }>(
  block: T,
): T {
  const start = block.data.slice(0, 300)
  const [prefix = '', type] = /^data:([^;,]*)(?:;[^;,]*)?;base64,/.exec(start) ?? []
  return type?.toLowerCase() === block.mimeType.toLowerCase()
    ? { ...block, data: block.data.slice(prefix.length) }
    : block
}
