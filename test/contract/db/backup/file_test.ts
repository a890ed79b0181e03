import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeNewFile } from '../../../../src/db/backup/file.ts'
import { temporaryDirectory } from '../../../support/database.ts'

test('a new file is readable by its owner alone, and appears only once it is complete', async () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'backup')
  const answer = await writeNewFile(path, async (append) => {
    await append(Buffer.from('one '))
    expect(existsSync(path)).toBe(false)
    const [unfinished = ''] = readdirSync(directory)
    expect(unfinished).toMatch(/^backup\.unfinished-[0-9a-f]{8}$/)
    expect(statSync(join(directory, unfinished)).mode & 0o777).toBe(0o600)
    await append(Buffer.from('two'))
    return 'answer'
  })
  expect(answer).toBe('answer')
  expect(readdirSync(directory)).toEqual(['backup'])
  expect(readFileSync(path, 'utf8')).toBe('one two')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a failure in the middle leaves no file', async () => {
  const directory = temporaryDirectory()
  const failure = new Error('The database went away')
  const writing = writeNewFile(join(directory, 'backup'), async (append) => {
    await append(Buffer.from('one'))
    throw failure
  })
  await expect(writing).rejects.toBe(failure)
  expect(readdirSync(directory)).toEqual([])
})

test.each([
  ['a file', (path: string) => writeFileSync(path, 'old')],
  ['a directory', (path: string) => mkdirSync(path)],
  ['a link to nowhere', (path: string) => symlinkSync('/nowhere', path)],
] as const)('%s is never overwritten, nor written to', async (_, make) => {
  const directory = temporaryDirectory()
  const path = join(directory, 'backup')
  make(path)
  let asked = false
  const writing = writeNewFile(path, async () => {
    asked = true
  })
  await expect(writing).rejects.toThrow(`Cannot write "${path}": it already exists`)
  expect(asked).toBe(false)
  expect(readdirSync(directory)).toEqual(['backup'])
})

test('a file that appears there meanwhile is not overwritten', async () => {
  const path = join(temporaryDirectory(), 'backup')
  const writing = writeNewFile(path, async (append) => {
    await append(Buffer.from('new'))
    writeFileSync(path, 'old')
  })
  await expect(writing).rejects.toThrow('it already exists')
  expect(readFileSync(path, 'utf8')).toBe('old')
})

test('a directory that is missing is named', async () => {
  const path = join(temporaryDirectory(), 'nowhere', 'backup')
  await expect(writeNewFile(path, async () => {})).rejects.toThrow(`Cannot write "${path}": its directory is missing`)
})
