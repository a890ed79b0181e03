import { expect, test } from 'bun:test'
import type { UnitOutcome } from '../../../../src/chain/call/exit/execute.ts'
import type { StepOutcome } from '../../../../src/chain/call/exit/step.ts'
import { exitPosition } from '../../../../src/family/liquidity/enumerable/exit.ts'
import { exitMasterChef } from '../../../../src/family/uniswap_v3/exit.ts'
import { attribute } from '../../../../src/portfolio/exit/attribute.ts'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { asset } from '../../portfolio/sum/assets.ts'

const toToken = (name: string) => ({
  address: toWalletAddress(name),
  symbol: name,
  name,
  decimals: 18,
  asWritten: { symbol: name, name },
  price: undefined,
})
const [CAKE, WETH] = [toToken('CAKE'), toToken('WETH')]

test('a reward that a MasterChef does not pay is not filled out of principal in the same token', () => {
  const position = { family: 'uniswap-v3', token_id: '7' }
  const steps = exitPosition(
    {
      tokenId: 7n,
      liquidity: 1n,
      owner: toWalletAddress('farmer'),
      custodian: { kind: 'masterchef', address: toWalletAddress('masterchef'), startBlock: 0 },
      rewards: [{ token: CAKE }],
      token0: CAKE,
      token1: WETH,
      deployment: { manager: toWalletAddress('manager') },
      pool: { address: toWalletAddress('pool') },
    },
    exitMasterChef,
  )
  const toAsset = (part: string, amount: bigint) =>
    asset({ kind: 'liquidity', token: CAKE, amount, position: { ...position, part } })
  const rows = classifyAssets([toAsset('principal', 100n), toAsset('fees', 5n), toAsset('rewards', 7n)], {
    includeUnlisted: false,
  })
  const done = (...deltas: readonly bigint[]): StepOutcome => ({ kind: 'done', deltas, lent: undefined })
  const skipped: StepOutcome = { kind: 'skipped' }
  /** What arrives of principal, fees and rewards. */
  const findArrived = (harvested: bigint): readonly bigint[] => {
    const outcome: UnitOutcome = {
      kind: 'run',
      steps: [done(harvested), done(), done(105n, 0n), skipped, skipped],
      made: new Set(),
    }
    return attribute({ position, ...steps }, rows, outcome).lines.map(({ arrived }) => arrived)
  }
  expect(findArrived(7n)).toEqual([100n, 5n, 7n])
  expect(findArrived(0n)).toEqual([100n, 5n, 0n])
})
