import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { collectNotices } from '../../../.ci/notices/mod.ts'
import manifest from '../../../package.json'
import { CommandError } from '../../../src/command/command.ts'
import { licensesCommand } from '../../../src/command/licenses.ts'

const notices = collectNotices({ hasPostgres: false })

test('notices name every package that a build may contain with its licence, and have each text once', () => {
  for (const [name, version] of Object.entries(manifest.dependencies)) expect(notices).toContain(`${name} ${version}`)
  // Needed by packages alone.
  expect(notices).toMatch(/^@noble\/curves \d.* \(MIT\)$/m)
  const texts = notices.split(/^-{79}$/m).map((block) => block.split('\n\n').slice(1).join('\n\n'))
  expect(new Set(texts).size).toBe(texts.length)
  expect(collectNotices({ hasPostgres: false })).toBe(notices)
})

test('notices name what packages need if it is there, also optionally', () => {
  const root = mkdtempSync(join(tmpdir(), 'notices-'))
  const write = (folder: string, manifest: object) => {
    mkdirSync(join(root, folder), { recursive: true })
    writeFileSync(join(root, folder, 'package.json'), JSON.stringify({ version: '1.0.0', license: 'MIT', ...manifest }))
    writeFileSync(join(root, folder, 'LICENSE'), `Licence of ${folder}`)
  }
  try {
    write('.', { name: 'program', dependencies: { outer: '1.0.0' } })
    write('node_modules/outer', { name: 'outer', optionalDependencies: { here: '1.0.0', elsewhere: '1.0.0' } })
    write('node_modules/here', { name: 'here', dependencies: { inner: '1.0.0' } })
    write('node_modules/inner', { name: 'inner' })
    write('node_modules/unused', { name: 'unused' })
    const told = collectNotices({ hasPostgres: false, root })
    expect(told.match(/^\w+ 1\.0\.0 \(MIT\)$/gm)).toEqual([
      'here 1.0.0 (MIT)',
      'inner 1.0.0 (MIT)',
      'outer 1.0.0 (MIT)',
    ])
  } finally {
    rmSync(root, { recursive: true })
  }
})

test('notices name what the bundles of packages contain, which is among no dependencies', () => {
  for (const name of ['ajv', 'ajv-formats', 'fast-deep-equal', 'fast-uri', 'json-schema-traverse', 'content-type'])
    expect(notices).toMatch(new RegExp(`^${name} \\d[^ ]* \\((?:MIT|BSD-3-Clause)\\)$`, 'm'))
  expect(notices).toContain('Evgeny Poberezkin')
})

test('notices of an executable have those of the server inside it', () => {
  const words = [
    'PostgreSQL Global Development Group',
    'The OpenSSL Project',
    'Eric Young',
    'Unicode, Inc.',
    'cjdict.txt',
    'laodict.txt',
    'burmesedict.txt',
    'Daniel Veillard',
    'zlib',
  ]
  const all = collectNotices({ hasPostgres: true })
  for (const word of words) expect(all).toContain(word)
  expect(notices).not.toContain('PostgreSQL Global Development Group')
})

test('the guide of receipts names every package under the Mozilla Public License', () => {
  const guide = readFileSync(join(import.meta.dir, '../../../src/dashboard/guide/receipts.md'), 'utf8')
  const names = [...notices.matchAll(/^@ethereumjs\/(\S+) \S+ \(MPL-2\.0\)$/gm)].map(([, name]) => name)
  expect(names.length).toBe([...notices.matchAll(/\(MPL-2\.0\)$/gm)].length)
  for (const name of names) expect(guide).toMatch(new RegExp(`\`(?:@ethereumjs/)?${name}\``))
})

test('licenses says where they are if nothing was built', async () => {
  const io = { out: () => undefined } as unknown as Parameters<typeof licensesCommand.run>[1]
  const args = { positionals: [], options: {}, flags: new Set<string>(), json: false }
  expect(Promise.resolve(licensesCommand.run(args, io))).rejects.toThrow(CommandError)
})
