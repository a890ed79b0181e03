import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectNotices } from '../../.ci/notices/mod.ts'
import { createSbom } from '../../.ci/notices/sbom.ts'
import manifest from '../../package.json'

const ROOT = join(import.meta.dir, '../..')

interface Component {
  readonly name: string
  readonly version?: string
  readonly purl: string
  readonly hashes?: readonly { readonly content: string }[]
}

const text = createSbom({ debian: 'libc6 2.36-9+deb12u10\ndash 0.5.12-2\n' })
const { components, metadata, ...head } = JSON.parse(text)
const byPurl = new Map<string, Component>(components.map((each: Component) => [each.purl, each]))

test('the bill of materials names this release, and the same packages give the same text', () => {
  expect(head).toEqual({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 })
  expect(metadata.component).toMatchObject({ name: 'walletscope', version: manifest.version })
  expect(createSbom({ debian: 'libc6 2.36-9+deb12u10\ndash 0.5.12-2\n' })).toBe(text)
})

test('it has every package that the licences name, once, with the hash of its archive in the lockfile', () => {
  expect(byPurl.size).toBe(components.length)
  const noticed = [
    ...collectNotices({ hasPostgres: false }).matchAll(/^((?:@[\w.-]+\/)?[\w.-]+) (\d+\.\d+\.\d+\S*)(?: \(.+\))?$/gm),
  ]
  expect(noticed.length).toBeGreaterThan(100)
  const purls = noticed.map(([, name = '', version]) => `pkg:npm/${name.replace('@', '%40')}@${version}`)
  expect(purls.filter((purl) => !byPurl.has(purl))).toEqual([])
  const lock = readFileSync(join(ROOT, 'bun.lock'), 'utf8')
  for (const [name, version] of Object.entries(manifest.dependencies)) {
    const { hashes } = byPurl.get(`pkg:npm/${name.replace('@', '%40')}@${version}`) ?? {}
    const base64 = Buffer.from(hashes?.[0]?.content ?? '', 'hex').toString('base64')
    expect([name, base64.length, lock.includes(`sha512-${base64}"`)]).toEqual([name, 88, true])
  }
})

test('it has the server inside, its libraries, the runtime, and what an image has beside them', () => {
  const named = components.map(({ name, version }: Component) => [name, version].join(' '))
  const inside = ['postgresql 18.4', 'OpenSSL 1.1', 'ICU 60', 'libxml2 ', 'zlib ', 'XZ Utils ', `bun ${Bun.version}`]
  expect(named).toEqual(expect.arrayContaining([...inside, 'libc6 2.36-9+deb12u10', 'dash 0.5.12-2']))
  expect(byPurl.has('pkg:deb/debian/libc6@2.36-9%2Bdeb12u10')).toBe(true)
})

test('the image is labelled with the name, the version, the licence and the words of the package', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const labels = [...dockerfile.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ])
  expect(Object.fromEntries(labels)).toEqual({
    title: manifest.name,
    description: manifest.description,
    version: manifest.version,
    licenses: manifest.license,
    revision: expect.stringMatching(/^\$\{REVISION\}$/),
  })
})
