import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The fields of a `package.json` that are read. */
interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string | { readonly type?: string }
  readonly author?: string | { readonly name?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** A package that a build may contain. */
interface Package {
  readonly manifest: Manifest
  /** Its licences and notices. */
  readonly text: string
}

const ROOT = join(import.meta.dir, '../..')
const TEXT_FILE = /^(licen[cs]e|copying|notice|copyright|third[-_]?party)/i
const RULE = '-'.repeat(79)
/** Begins the code of a package that the bundle of another contains. */
const INLINED = /^\/\/#region \S*node_modules\/\.pnpm\/((?:@[^+/]+\+)?[^@/]+)@([^_/]+)/gm

/**
 * Collects the notices that go with copies of a build: our own licence, those of all packages that `dependencies` reach
 * or that their bundles contain, each text once, and with `hasPostgres` those of the server inside the executable. The same packages give the same text.
 */
export function collectNotices({
  hasPostgres,
  root = ROOT,
}: {
  readonly hasPostgres: boolean
  /** Folder of the program's own package. @default this repository */
  readonly root?: string
}): string {
  const namesByText = new Map<string, string[]>()
  for (const each of listPackages(root))
    namesByText.set(each.text, [...(namesByText.get(each.text) ?? []), toTitle(each)])
  return [
    readFileSync(join(root, 'LICENSE'), 'utf8').trim(),
    `${RULE}\nThis program contains the software below. Bun, which runs the executable, has notices of its own: https://bun.com/docs/project/license`,
    ...(hasPostgres ? [readFileSync(join(import.meta.dir, 'postgres.txt'), 'utf8').trim()] : []),
    ...[...namesByText].map(([text, names]) => `${RULE}\n${names.join('\n')}\n\n${text}`),
  ].join('\n\n')
}

/** Lists the packages that a build may contain, by name. `root` is the folder of the program's own package. */
export function listPackages(root = ROOT): readonly Package[] {
  const packages = new Map<string, Package>()
  for (const name of Object.keys(readManifest(root).dependencies ?? {})) collectPackages(name, root, packages)
  return [...packages.values()].sort((a, b) => (toTitle(a) < toTitle(b) ? -1 : 1))
}

/** Adds a package and all that it needs, found as Node does from `from`. */
function collectPackages(name: string, from: string, packages: Map<string, Package>): void {
  const directory = findPackage(name, from)
  // Packages for other platforms are not installed.
  if (directory === undefined || packages.has(directory)) return
  const manifest = readManifest(directory)
  packages.set(directory, { manifest, text: readTexts(directory, manifest) })
  for (const other of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    collectPackages(other, directory, packages)
  for (const [inlined, version] of listInlined(directory)) collectInlined(inlined, { version, from, packages })
}

/** Lists the packages that the bundle of a package contains, which are not among its dependencies, with their versions. */
function listInlined(directory: string): ReadonlyMap<string, string> {
  const dist = join(directory, 'dist')
  if (!existsSync(dist)) return new Map()
  const files = readdirSync(dist).filter((name) => /\.m?js$/.test(name))
  const matches = files.flatMap((name) => [...readFileSync(join(dist, name), 'utf8').matchAll(INLINED)])
  return new Map(matches.map(([, name = '', version = '']) => [name.replace('+', '/'), version]))
}

/** Adds a package that a bundle contains. One that is not installed is for another platform, and not in a build. */
function collectInlined(
  name: string,
  {
    version,
    from,
    packages,
  }: { readonly version: string; readonly from: string; readonly packages: Map<string, Package> },
): void {
  const directory = findPackage(name, from)
  if (directory === undefined || packages.has(directory)) return
  const manifest = { ...readManifest(directory), version }
  packages.set(directory, { manifest, text: readTexts(directory, manifest) })
}

function findPackage(name: string, from: string): string | undefined {
  const directory = join(from, 'node_modules', name)
  if (existsSync(join(directory, 'package.json'))) return directory
  return from === dirname(from) ? undefined : findPackage(name, dirname(from))
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
}

function readTexts(directory: string, { author }: Manifest): string {
  const files = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXT_FILE.test(entry.name))
    .map(({ name }) => name)
    .sort()
  const texts = files.map((name) => readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n').trim())
  const holder = typeof author === 'object' ? author.name : author
  return texts.length === 0
    ? `The package has no text of its licence${holder === undefined ? '' : `; its author is ${holder}`}.`
    : texts.join('\n\n')
}

function toTitle({ manifest: { name, version, license } }: Package): string {
  const told = typeof license === 'object' ? license.type : license
  return `${name} ${version}${told === undefined ? '' : ` (${told})`}`
}
