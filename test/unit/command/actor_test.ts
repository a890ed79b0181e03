import { expect, test } from 'bun:test'
import { userInfo } from 'node:os'
import { findActor } from '../../../src/command/account/actor.ts'

test('findActor() names the account, and whose it was before sudo, on one line', () => {
  const find = (account: string, SUDO_USER?: string) => findActor({ environment: { SUDO_USER } }, () => account).account
  expect(find('alice')).toBe('alice')
  expect(find('root', 'alice')).toBe('root, sudo by alice')
  expect(find('root', 'root')).toBe('root')
  expect(find('root', 'a\u001b[2Jb')).toBe('root, sudo by a\\u001b[2Jb')
  expect(find('a'.repeat(100))).toHaveLength(64)
  expect(findActor({ environment: {} })).toEqual({ kind: 'cli', sessionId: null, account: userInfo().username })
})
