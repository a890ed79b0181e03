import { expect, test } from 'bun:test'
import { findActor } from '../../../src/command/account/actor.ts'

test('findActor() names the number of the account and its name, and for root who claims to be before sudo, on one line', async () => {
  const find = async (uid: number, name?: string, SUDO_USER?: string) =>
    (await findActor({ environment: { SUDO_USER } }, async () => ({ uid, name }))).account
  expect(await find(1000, 'alice')).toBe('uid 1000 (alice)')
  expect(await find(1000, 'alice', 'root')).toBe('uid 1000 (alice)')
  expect(await find(70_000)).toBe('uid 70000')
  expect(await find(0, 'root', 'alice')).toBe('uid 0 (root), claims sudo by alice')
  expect(await find(0, undefined, 'alice')).toBe('uid 0, claims sudo by alice')
  expect(await find(0, 'root', 'root')).toBe('uid 0 (root)')
  expect(await find(0, 'root', 'a\u001b[2Jb')).toBe('uid 0 (root), claims sudo by a\\u001b[2Jb')
  expect(await find(1000, 'a'.repeat(100))).toHaveLength(64)
})
