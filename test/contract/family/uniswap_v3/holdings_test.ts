import { beforeAll, describe, expect, test } from 'bun:test'
import { type Address, isAddressEqual } from 'viem'
import { LENS_MODES } from '../../../../src/chain/call/lens.ts'
import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { isOwed } from '../../../../src/family/liquidity/enumerable/math.ts'
import type { Position } from '../../../../src/family/liquidity/enumerable/read/position.ts'
import { createPositionReader } from '../../../../src/family/liquidity/enumerable/read/read.ts'
import { createHoldingsReader } from '../../../../src/family/liquidity/holdings.ts'
import type { WithdrawnReader } from '../../../../src/family/liquidity/withdrawn.ts'
import { EXCHANGE, PROTOCOL } from '../../../../src/family/uniswap_v3/protocol.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { caseCount } from '../../../support/cases.ts'
import {
  computeFigures,
  countedClient,
  createTestReader,
  DEPLOYMENT,
  patient,
  toWhole,
} from '../../../support/family/uniswap_v3/support.ts'
import { readHoldings } from '../../../support/holdings.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { slowClock } from '../../../support/test_clock.ts'

const SIXTY = toWalletAddress('holdings of 60')
const RANDOM_COUNT = caseCount(120, 40)

/** Knows no history. */
const readNone: WithdrawnReader<Position> = (positions) => Promise.resolve(positions.map(() => undefined))

let devnet: Devnet
let wallets: readonly Address[]

beforeAll(async () => {
  devnet = await sharedDevnet()
  await devnet.mintMany(SIXTY, 60)
  await devnet.hostile()
  const random = await devnet.randomScenario(20_261_123, RANDOM_COUNT)
  wallets = [...Object.values(devnet.wallets), ...random.wallets, SIXTY]
}, 120_000)

function setUp(overrides: Partial<EnumerableDeployment> = {}) {
  const { client, requests } = countedClient(createDevnetChain(devnet))
  const deployments = new Map([[client.chain.id, [{ ...DEPLOYMENT, ...overrides }]]])
  const reader = createPositionReader(EXCHANGE, {
    clients: new Map([[client.chain.id, client]]),
    deployments,
    clock: slowClock,
  })
  return { client, requests, reader }
}

describe('holdings()', () => {
  test.each(LENS_MODES)(
    'has principal and fees of every position that the list has, by %s',
    async (way) => {
      const { client, reader } = setUp()
      const holdings = createHoldingsReader(PROTOCOL, { reader, readWithdrawn: readNone })
      const counts = { rows: 0, withFees: 0, owed: 0, priced: 0, keptLegs: 0 }
      for (const wallet of wallets) {
        const held = await readHoldings(holdings, withLensMode(client, way), { wallet })
        if (held === undefined) throw new Error('Cannot read the devnet')
        const { reader: list, targets: places } = createTestReader(client)
        const [read] = await list.readWallet(wallet, { targets: places, work: patient })
        const expected = toWhole(read?.positions ?? []).flatMap((position) => {
          const { amounts, owed } = computeFigures(position)
          const id = String(position.tokenId)
          // State alone does not tell fees from principal that was withdrawn.
          const part = isOwed(position) ? 'owed' : 'fees'
          return [
            { id, part: 'principal', token: position.token0.address, amount: amounts.amount0 },
            { id, part: 'principal', token: position.token1.address, amount: amounts.amount1 },
            { id, part, token: position.token0.address, amount: owed.amount0 },
            { id, part, token: position.token1.address, amount: owed.amount1 },
          ].filter(({ amount }) => amount > 0n)
        })
        // The list leaves out positions with a token that is spam; here only that token's rows are refused.
        const lured = new Set(held.rows.flatMap(({ refused, position }) => (refused ? [position['token_id']] : [])))
        const sound = held.rows.filter(({ position }) => !lured.has(position['token_id']))
        const kept = held.rows.filter(
          ({ refused, position }) => refused === undefined && lured.has(position['token_id']),
        )
        counts.keptLegs += kept.length
        expect(
          sound.map(({ position, token, amount }) => ({
            id: position['token_id'],
            part: position['part'],
            token: token.address,
            amount,
          })),
        ).toEqual(expected)
        const ids = await devnet.v3.readTokenIds(wallet)
        expect([held.omitted, ids.length <= 2_000]).toEqual([undefined, true])
        expect(held.ownTokens).toEqual([])
        counts.rows += sound.length
        counts.withFees += sound.filter(({ position }) => position['part'] === 'fees').length
        counts.owed += sound.filter(({ position }) => position['part'] === 'owed').length
        counts.priced += sound.filter(({ price }) => price?.kind === 'price').length
      }
      expect(counts.rows).toBeGreaterThan(2 * RANDOM_COUNT)
      expect(counts.withFees).toBeGreaterThan(RANDOM_COUNT / 6)
      expect(counts.owed).toBeGreaterThan(0)
      expect(counts.priced).toBe(counts.rows)
      expect(counts.keptLegs).toBeGreaterThan(0)
    },
    120_000,
  )

  test('shows positions of spam tokens with the reason, and says which ones cannot be decoded', async () => {
    const { client, reader } = setUp()
    const { wallet } = await devnet.hostile()
    const held = await readHoldings(createHoldingsReader(PROTOCOL, { reader, readWithdrawn: readNone }), client, {
      wallet,
    })
    const { reader: list, targets: places } = createTestReader(client)
    const [read] = await list.readWallet(wallet, { targets: places, work: patient })
    const spam = held?.rows.filter(({ refused }) => refused?.reason === 'spam') ?? []
    expect(new Set(spam.map(({ position }) => position['token_id']))).toEqual(
      new Set(read?.spams.map(({ tokenId }) => String(tokenId))),
    )
    for (const { refused, position } of spam) {
      const reason = read?.spams.find(({ tokenId }) => String(tokenId) === position['token_id'])?.reason
      expect(refused?.detail).toBe(reason ?? '')
    }
    expect(held?.notRead.length).toBe(read?.unreadable.length ?? -1)
    expect(held?.notRead.length).toBeGreaterThan(0)
    expect(spam.length).toBeGreaterThan(0)
  })

  test('reads the first positions of a list that is too long, and counts the rest', async () => {
    const { client, requests, reader } = setUp()
    const holdings = createHoldingsReader(PROTOCOL, { reader, readWithdrawn: readNone })
    const held = await readHoldings(holdings, client, { wallet: SIXTY, positionsMax: 59 })
    expect(new Set(held?.rows.map(({ position }) => position['token_id'])).size).toBe(59)
    expect(held?.omitted).toEqual({ family: 'uniswap-v3', kind: 'liquidity', count: 1 })
    expect(requests).toEqual(['eth_call'])
  })

  test('skips a manager before its first block, and at a past block returns the holdings at that block', async () => {
    const { number } = await devnet.client.getBlock()
    const { client, reader } = setUp({ startBlock: Number(number) })
    const holdings = createHoldingsReader(PROTOCOL, { reader, readWithdrawn: readNone })
    const at = async (height: bigint) => {
      const { hash, parentHash, timestamp } = await devnet.client.getBlock({ blockNumber: height })
      return { chainId: client.chain.id, number: height, timestampSec: timestamp, hash, parentHash }
    }
    expect(await readHoldings(holdings, client, { wallet: SIXTY, block: await at(number - 1n) })).toBeUndefined()
    const held = await readHoldings(holdings, client, { wallet: SIXTY, block: await at(number) })
    expect(held?.block.number).toBe(number)
    expect(new Set(held?.rows.map(({ position }) => position['token_id'])).size).toBe(60)
    const manager = held?.rows[0]?.position['manager_address'] as Address
    expect(isAddressEqual(manager, DEPLOYMENT.manager)).toBe(true)
  })
})
