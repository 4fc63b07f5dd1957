import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import type { Random } from '../fuzz/random.ts'

export const storeName = 'ledger.db'

/** Files of a store that a damage may hit, by the end of their name. */
export const damagedFiles = ['', '-wal', '-shm', '.witness'] as const
export type DamagedFile = (typeof damagedFiles)[number]

const damages = ['flip', 'zero', 'truncate', 'delete', 'older'] as const
export type Damage = (typeof damages)[number]

export function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) copyFileSync(path.join(from, name), path.join(to, name))
}

/** Damages one file of a store at random; `older` is a folder with an earlier copy. Returns a description. */
export function damageStore(
  folder: string,
  older: string,
  random: Random,
  isAllowed: (file: DamagedFile, damage: Damage) => boolean = () => true,
): string {
  const choices = damagedFiles.flatMap((file) =>
    damages
      .filter((damage) => isAllowed(file, damage))
      .filter((damage) => {
        const name = storeName + file
        if (!existsSync(path.join(folder, name))) return false
        return damage !== 'older' || existsSync(path.join(older, name))
      })
      .map((damage) => ({ file, damage })),
  )
  const { file, damage } = random.pick(choices)
  const target = path.join(folder, storeName + file)
  const detail = applyDamage[damage](target, path.join(older, storeName + file), random)
  return `${damage} ${storeName + file}${detail}`
}

type Apply = (file: string, older: string, random: Random) => string

const applyDamage: Record<Damage, Apply> = {
  flip(file, _, random) {
    const bytes = readFileSync(file)
    if (bytes.length === 0) return ' (empty)'
    const offsets = Array.from({ length: random.pick([1, 1, 4, 32]) }, () =>
      random.below(bytes.length),
    )
    for (const offset of offsets) bytes[offset] = (bytes[offset] as number) ^ (1 << random.below(8))
    overwrite(file, bytes)
    return ` at ${offsets.join(', ')}`
  },
  zero(file, _, random) {
    const bytes = readFileSync(file)
    const start = random.chance(0.2) ? 0 : random.below(bytes.length + 1)
    const end = Math.min(
      bytes.length,
      start + 1 + random.below(random.pick([16, 512, 4096, 65_536])),
    )
    bytes.fill(0, start, end)
    overwrite(file, bytes)
    return ` from ${start} to ${end}`
  },
  truncate(file, _, random) {
    const { length } = readFileSync(file)
    const size = random.chance(0.2) ? 0 : Math.max(0, length - 1 - random.below(length + 1))
    truncateSync(file, size)
    return ` to ${size} of ${length}`
  },
  delete(file) {
    rmSync(file)
    return ''
  },
  older(file, older, random) {
    if (random.chance(0.5)) {
      overwrite(file, readFileSync(older))
      return ' in place'
    }
    rmSync(file)
    copyFileSync(older, file)
    return ' as a new file'
  },
}

/** Keeps the inode. */
const overwrite = (file: string, bytes: Buffer) => writeFileSync(file, bytes, { flag: 'r+' })
