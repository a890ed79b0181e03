import { expect, test } from 'bun:test'
import { findHosts } from '../../../../../src/finance/token/spam.ts'

test('a host is a label of at most 63 characters, a dot and an ending of 2 to 24 letters', () => {
  for (const host of ['swap.fi', `${'a'.repeat(63)}.com`, `swap.${'a'.repeat(24)}`])
    expect(findHosts(host)).toMatchObject({ hasHost: true })
  for (const none of ['u.s. dollar', 'v1.2', `${'a'.repeat(64)}.com`, `swap.${'a'.repeat(25)}`]) {
    expect(findHosts(none)).toMatchObject({ hasHost: false, hasLink: false })
  }
})

test('a mark points at the host right behind it, with one space between or none', () => {
  for (const link of ['more:swap.com now', 'more: swap.com now', 'a >swap.com b', 'a → swap.com b']) {
    expect({ link, is: findHosts(link).hasLink }).toEqual({ link, is: true })
  }
  for (const none of ['a (swap.com b', 'a >(swap.com b', 'a > b swap.com c', 'more swap.com now']) {
    expect({ none, is: findHosts(none).hasLink }).toEqual({ none, is: false })
  }
})
