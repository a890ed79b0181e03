import { expect, test } from 'bun:test'
import { type Address, encodeErrorResult, parseAbi } from 'viem'
import { exitAccounts } from '../../../../src/family/aave_v3/exit.ts'

const WALLET: Address = `0x${'1'.repeat(40)}`
const PROVIDER: Address = `0x${'2'.repeat(40)}`
const ABI = parseAbi(['error Error(string)', 'error Panic(uint256)', 'error ReservePaused()'])

test('an overflow says that the money is not there only where it is withdrawn', () => {
  const deployments = [{ market: 'main', poolAddressesProvider: PROVIDER, startBlock: 0 }]
  const block = { chainId: 1, number: 1n, timestampSec: 1n }
  const accounts = [{ wallet: WALLET, market: 0, holdings: [], eModeCategory: 0 }]
  const read = { block, taken: 1, markets: [], reserves: [], categories: [], broken: [], tokens: [], accounts }
  const [exit] = exitAccounts(read as never, { wallet: WALLET, deployments, rows: [] })
  const overflow = encodeErrorResult({ abi: ABI, errorName: 'Panic', args: [17n] })
  expect(exit?.explain(overflow, 'supplied')).toBe('no_liquidity')
  expect(exit?.explain(overflow, 'borrowed')).toBeUndefined()
  for (const kind of ['supplied', 'borrowed'] as const) {
    expect(exit?.explain(encodeErrorResult({ abi: ABI, errorName: 'ReservePaused' }), kind)).toBe('paused')
    expect(exit?.explain(encodeErrorResult({ abi: ABI, errorName: 'Error', args: ['29'] }), kind)).toBe('paused')
  }
})
