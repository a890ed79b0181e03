/**
 * `bun .ci/notices/sbom.ts [packages of Debian]`: prints what an executable contains as CycloneDX JSON, and with a file of
 * lines `name version` also what an image has beside it. It asks no network and holds no time: the same packages give the
 * same text.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { POSTGRES_PACKAGE_VERSION } from '../../src/db/embedded/program.ts'
import { listPackages } from './mod.ts'

interface Component {
  readonly type: 'application' | 'library'
  readonly name: string
  readonly version?: string
  readonly purl: string
  readonly licenses?:
    | readonly { readonly license: { readonly id: string } }[]
    | readonly { readonly expression: string }[]
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[]
}

const ROOT = join(import.meta.dir, '../..')
/** A locked package: its name and version, and the hash of its archive. */
const LOCKED = /^ {4}"[^"]+": \["(@?[^@"]+)@([^"]+)", .*"sha512-([^"]+)"\],?$/gm
/** A title of a notice about the server: `ICU 60 (libicudata, …)`. */
const TITLE = /^(.+?)(?: (\d[\d.]*))?(?: \(.*\))?$/

/** Creates the bill of materials of an executable, or of an image with packages of Debian. */
export function createSbom({ debian = '' }: { readonly debian?: string } = {}): string {
  const { name, version, license, description } = manifest
  return `${JSON.stringify(
    {
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      version: 1,
      metadata: {
        component: { type: 'application', 'bom-ref': name, name, version, description, licenses: toLicenses(license) },
      },
      components: toUnique([...listNpm(), ...listServer(), bunRuntime(), ...listDebian(debian)]),
    },
    null,
    2,
  )}\n`
}

function listNpm(): readonly Component[] {
  const lock = readFileSync(join(ROOT, 'bun.lock'), 'utf8')
  const hashes = new Map(
    [...lock.matchAll(LOCKED)].map(([, name, version, base64 = '']) => [`${name}@${version}`, base64]),
  )
  return listPackages().map(({ manifest: { name, version, license } }) => {
    const base64 = hashes.get(`${name}@${version}`)
    const told = typeof license === 'object' ? license.type : license
    return {
      type: 'library',
      name,
      version,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      ...(told === undefined ? {} : { licenses: toLicenses(told) }),
      ...(base64 === undefined
        ? {}
        : { hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }] }),
    }
  })
}

/** Drops copies of a package that several others brought. */
function toUnique(components: readonly Component[]): readonly Component[] {
  return [...new Map(components.map((each) => [each.purl, each])).values()]
}

/** The server inside and its libraries, as the notices about them are titled. */
function listServer(): readonly Component[] {
  const notices = readFileSync(join(import.meta.dir, 'postgres.txt'), 'utf8')
  const titles = [...notices.matchAll(/^-{79}\n(\S.*)$/gm)].map(([, title = '']) => TITLE.exec(title) ?? [])
  const libraries = titles.filter(([, name = '']) => !name.startsWith('PostgreSQL'))
  return [
    toGeneric({
      type: 'application',
      name: 'postgresql',
      version: POSTGRES_PACKAGE_VERSION.split('.').slice(0, 2).join('.'),
    }),
    ...libraries.map(([, name = '', version]) => toGeneric({ type: 'library', name, ...(version && { version }) })),
  ]
}

function bunRuntime(): Component {
  return toGeneric({ type: 'application', name: 'bun', version: Bun.version })
}

function toGeneric(named: Pick<Component, 'type' | 'name' | 'version'>): Component {
  const { name, version } = named
  const path = encodeURIComponent(name.toLowerCase())
  return { ...named, purl: `pkg:generic/${path}${version === undefined ? '' : `@${version}`}` }
}

function listDebian(text: string): readonly Component[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([name = '', version]) =>
      version === undefined
        ? []
        : [{ type: 'library', name, version, purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}` }],
    )
}

function toLicenses(text: string): NonNullable<Component['licenses']> {
  return /^[\w.-]+$/.test(text) ? [{ license: { id: text } }] : [{ expression: text.replace(/^\((.*)\)$/, '$1') }]
}

if (import.meta.main) {
  const [, , path] = process.argv
  process.stdout.write(createSbom(path === undefined ? {} : { debian: readFileSync(path, 'utf8') }))
}
