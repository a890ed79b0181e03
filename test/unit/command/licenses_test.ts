import { expect, test } from 'bun:test'
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

test('licenses says where they are if nothing was built', async () => {
  const io = { out: () => undefined } as unknown as Parameters<typeof licensesCommand.run>[1]
  const args = { positionals: [], options: {}, flags: new Set<string>(), json: false }
  expect(Promise.resolve(licensesCommand.run(args, io))).rejects.toThrow(CommandError)
})
