import { expect, test } from 'bun:test'
import { testDatabase } from '../../support/database.ts'

test('a lease is its holder’s until it ends or is released, and then free', async () => {
  const { db } = await testDatabase()
  const ask = async (text: string, params: readonly (string | number)[]) =>
    (await db.run<{ done: boolean }>(`select ${text} as done`, params))[0]?.done
  const take = (holder: string, sec: number) => ask(`lease_take('job', 'subject', $1, $2::integer)`, [holder, sec])
  const release = (holder: string) => ask(`lease_release('job', 'subject', $1)`, [holder])
  expect(await take('one', 30)).toBe(true)
  expect(await take('other', 30)).toBe(false)
  // Renewed for no time, it ends.
  expect(await take('one', 0)).toBe(true)
  expect(await take('other', 30)).toBe(true)
  expect(await take('one', 30)).toBe(false)
  expect(await release('one')).toBe(false)
  expect(await release('other')).toBe(true)
  expect(await take('one', 30)).toBe(true)
})
