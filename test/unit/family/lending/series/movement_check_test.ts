import { expect, test } from 'bun:test'
import { createMovementCheck, type SnapshotMarket } from '../../../../../src/family/lending/series.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'

test('wallets of one turn share a call, and one that makes it fail fails alone', async () => {
  const calls: (readonly string[])[] = []
  const market = {
    chainId: 1,
    name: '0x01',
    async readMovements(_block: unknown, wallets: readonly string[]) {
      calls.push(wallets)
      if (wallets.includes('0x02')) throw new UnavailableError('Out of gas')
      return { value: wallets.map((wallet) => wallet === '0x03'), endpoints: [0, 1] }
    },
  } as Partial<SnapshotMarket> as SnapshotMarket
  const check = createMovementCheck()
  const answers = ['0x01', '0x02', '0x03'].map((wallet) =>
    check(market, { wallet: wallet as `0x${string}` }).catch(String),
  )
  expect(await Promise.all(answers)).toEqual([
    { hasMoved: false, witnesses: 2 },
    'UnavailableError: Out of gas',
    { hasMoved: true, witnesses: 2 },
  ])
  expect(calls.map(({ length }) => length)).toEqual([3, 2, 1, 1, 1])
  const others = await Promise.all([check(market, { wallet: '0x04' }), check(market, { wallet: '0x03' })])
  expect(others.map(({ hasMoved }) => hasMoved)).toEqual([false, true])
})
