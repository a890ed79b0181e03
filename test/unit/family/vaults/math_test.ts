import { expect, test } from 'bun:test'
import { computeWithdrawable, findCooldownWindow, isCooledDown } from '../../../../src/family/vaults/math.ts'

const NONE = { amount: 0n, endSec: 0n, windowSec: 0n }
const HOLDING = { shares: 50n, assets: 100n, withdrawableMax: 100n, isGated: false, cooldown: NONE }
const VAULT = { class: 'erc4626', isPaused: false, cooldownSec: undefined } as const

test('a plain vault pays what maxWithdraw says, up to the worth of the shares', () => {
  const compute = (holding: Partial<typeof HOLDING>, isPaused = false) =>
    computeWithdrawable({ kind: 'erc4626', vault: { ...VAULT, isPaused }, holding: { ...HOLDING, ...holding } })
  expect(compute({})).toBeUndefined()
  expect(compute({ withdrawableMax: 2n ** 256n - 1n })).toBeUndefined()
  expect(compute({ withdrawableMax: 99n })).toEqual({ amount: 99n, limitedBy: 'liquidity' })
  expect(compute({ withdrawableMax: 0n }, true)).toEqual({ amount: 0n, limitedBy: 'paused' })
  for (const unknown of [{ assets: undefined }, { withdrawableMax: undefined }] as unknown as (typeof HOLDING)[]) {
    expect(compute(unknown)).toEqual({ amount: undefined, limitedBy: 'liquidity' })
  }
})

test('of a plain vault that tells a cooldown it is not known what it pays', () => {
  const compute = (cooldownSec: bigint) =>
    computeWithdrawable({ kind: 'erc4626', vault: { ...VAULT, cooldownSec }, holding: HOLDING })
  expect(compute(1n)).toEqual({ amount: undefined, limitedBy: 'cooldown' })
  expect(compute(0n)).toBeUndefined()
})

test('a vault with a silo pays nothing at once while it has a cooldown, whatever maxWithdraw says', () => {
  const compute = (cooldownSec: bigint | undefined) =>
    computeWithdrawable({ kind: 'silo', vault: { ...VAULT, cooldownSec }, holding: HOLDING })
  expect(compute(604_800n)).toEqual({ amount: 0n, limitedBy: 'cooldown' })
  expect(compute(0n)).toBeUndefined()
  expect(compute(undefined)).toEqual({ amount: undefined, limitedBy: 'cooldown' })
})

test('a Morpho Vault V2 pays what it holds and what its adapter can take out, and nothing behind a gate', () => {
  const compute = (vault: object, isGated = false) =>
    computeWithdrawable({
      kind: 'erc4626',
      vault: { ...VAULT, class: 'morpho_vault_v2', idle: 10n, adapter: { kind: 'none' }, ...vault },
      holding: { ...HOLDING, withdrawableMax: undefined, isGated },
    })
  const adapter = (supplied: bigint, liquidity: bigint) => ({ adapter: { kind: 'market', supplied, liquidity } })
  expect(compute({})).toEqual({ amount: 10n, limitedBy: 'liquidity' })
  expect(compute(adapter(30n, 40n))).toEqual({ amount: 40n, limitedBy: 'liquidity' })
  expect(compute(adapter(50n, 40n))).toEqual({ amount: 50n, limitedBy: 'liquidity' })
  expect(compute(adapter(90n, 90n))).toBeUndefined()
  expect(compute(adapter(90n, 90n), true)).toEqual({ amount: 0n, limitedBy: 'gate' })
  expect(compute({ adapter: { kind: 'unknown' } })).toEqual({ amount: undefined, limitedBy: 'liquidity' })
  expect(compute({ idle: undefined })).toEqual({ amount: undefined, limitedBy: 'liquidity' })
})

test('what left a silo is free from its end on, shares in a window until its last second', () => {
  const cooldown = { amount: 5n, endSec: 1_000n, windowSec: 100n }
  const toTimes = (kind: 'silo' | 'window') => {
    const window = findCooldownWindow(kind, { cooldown })
    return [999n, 1_000n, 1_100n, 1_101n].map((now) => window && isCooledDown(window, now))
  }
  expect(toTimes('silo')).toEqual([false, true, true, true])
  expect(toTimes('window')).toEqual([false, true, true, false])
  expect(findCooldownWindow('erc4626', { cooldown })).toBeUndefined()
  expect(findCooldownWindow('silo', { cooldown: NONE })).toBeUndefined()
})
