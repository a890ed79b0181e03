import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Secret {
  readonly title: string
  readonly secret: string
  readonly label: string
}

interface Unsaved {
  createUnsavedSecrets(): {
    list(): readonly Secret[]
    add(secret: Secret): void
    remove(secret: Secret): void
    onChange(listener: (secrets: readonly Secret[]) => void): () => void
  }
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/unsaved.ts')
const { createUnsavedSecrets } = (await import(PATH)) as Unsaved

test('a second secret does not take the place of the first, and each stays until it is saved', () => {
  const secrets = createUnsavedSecrets()
  const seen: number[] = []
  const stop = secrets.onChange((all) => seen.push(all.length))
  const [first, second] = ['one', 'two'].map((secret) => ({ title: secret, secret, label: 'Copy' }))
  if (first === undefined || second === undefined) throw new Error('Expected two')
  secrets.add(first)
  secrets.add(second)
  expect(secrets.list()).toEqual([first, second])
  secrets.remove(first)
  expect(secrets.list()).toEqual([second])
  stop()
  secrets.remove(second)
  expect(seen).toEqual([1, 2, 1])
  expect(secrets.list()).toEqual([])
})
