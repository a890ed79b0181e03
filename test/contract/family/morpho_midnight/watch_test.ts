import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, type Hex, zeroHash } from 'viem'
import { LENDING_FIGURES } from '../../../../src/family/lending/watched.ts'
import { createWatcher } from '../../../../src/family/morpho_midnight/watch.ts'
import type { ConfirmedFigures } from '../../../../src/family/watch.ts'
import { formatRational, rational } from '../../../../src/lib/number/rational.ts'
import { mineAt, placeCheckpoint } from '../../../devnet/morpho_midnight/mod.ts'
import type { VectorPosition } from '../../../devnet/morpho_midnight/vectors.ts'
import { createHurriedClock } from '../../../support/test_clock.ts'
import {
  DEPLOYMENTS,
  type MidnightChain,
  type MidnightReader,
  patient,
  readPinned,
  startMidnightChain,
  startReader,
  vectors,
} from './support.ts'

const LIMIT_MS = 120_000
const LAST = vectors.checkpoints.length - 1
const CHAIN_ID = 31_337
const MAX = 'MAX'

let chain: MidnightChain
let reader: MidnightReader

beforeAll(async () => {
  chain = await startMidnightChain()
  reader = await startReader([chain.anvil.rpcUrl])
}, LIMIT_MS)
afterAll(async () => {
  await reader?.close()
  await chain?.anvil.stop()
}, LIMIT_MS)

const decimals = new Map(
  [...vectors.tokens.loan, ...vectors.tokens.collateral].map((token) => [token.address, token.decimals]),
)

/** Whole tokens, each worth a dollar on this chain, as a rational with 36 digits. */
function toUsd(token: Address | undefined, raw: bigint): bigint {
  return raw * 10n ** BigInt(36 - (decimals.get(token as Address) ?? 0))
}

function confirm(subjects: readonly { readonly wallet: Address; readonly market_id: Hex }[], block: number) {
  const watcher = createWatcher({
    clients: new Map([[CHAIN_ID, reader.client]]),
    deployments: DEPLOYMENTS,
    clock: createHurriedClock(),
  })
  const work = patient
  return readPinned(reader.client, block).then((pinned) =>
    watcher.confirm(subjects, { client: reader.client, block: pinned }, work),
  )
}

function tell(figures: ConfirmedFigures | 'gone' | undefined) {
  if (figures === undefined || figures === 'gone') throw new Error('Expected figures')
  return Object.fromEntries(Object.keys(LENDING_FIGURES).map((figure) => [figure, figures.text(figure)]))
}

/** What triggers must be told of a position, from what the contract said. */
function toFigures({ market: index, ...position }: VectorPosition, checkpoint: (typeof vectors.checkpoints)[number]) {
  const market = vectors.markets[index]
  const withdrawable = BigInt(checkpoint.markets.find((each) => each.market === index)?.withdrawable ?? 0)
  const [debt, credit] = [BigInt(position.debt), BigInt(position.view.credit)]
  const collateral = position.collateral.reduce(
    (sum, { index: place, raw }) => sum + toUsd(market?.collateralParams[place]?.token, BigInt(raw)),
    0n,
  )
  const lent = toUsd(market?.loanToken, credit < withdrawable ? credit : withdrawable)
  const owed = toUsd(market?.loanToken, debt)
  const usd = (units: bigint) => formatRational(rational(units, 10n ** 36n), { digits: 6 })
  const left = BigInt(market?.maturity ?? 0) - BigInt(checkpoint.time)
  const health = position.maxDebt === null ? null : (BigInt(position.maxDebt) * 10_000n) / (debt === 0n ? 1n : debt)
  const isLiquidatable = position.liquidateUnhealthy === 'ok' || position.liquidateAfterMaturity === 'ok'
  const isKnown = position.maxDebt !== null
  return {
    health_factor:
      debt === 0n ? MAX : health === null ? null : `${health / 10_000n}.${String(health % 10_000n).padStart(4, '0')}`,
    is_liquidatable: debt === 0n ? false : isKnown ? isLiquidatable : null,
    due_in_sec: debt === 0n ? MAX : String(left > 0n ? left : 0n),
    net_worth_usd: usd(lent + collateral - owed),
    total_collateral_usd: usd(collateral),
    total_debt_usd: usd(owed),
  }
}

test(
  'figures of triggers are what the contract said of every position, at each checkpoint',
  async () => {
    let compared = 0
    for (const [index, checkpoint] of vectors.checkpoints.entries()) {
      const subjects = checkpoint.positions.map(({ wallet, market }) => ({
        wallet: vectors.wallets[wallet] as Address,
        market_id: vectors.markets[market]?.id as Hex,
      }))
      const figures = await confirm(subjects, chain.blocks[index] ?? 0)
      for (const [place, position] of checkpoint.positions.entries()) {
        expect(tell(figures[place])).toMatchObject(toFigures(position, checkpoint))
        compared++
      }
    }
    expect(compared).toBe(191)
  },
  LIMIT_MS,
)

test(
  'a market that does not exist is gone, and a wallet without a position in one has nothing',
  async () => {
    const wallet = vectors.stranger
    const [gone, empty] = await confirm(
      [
        { wallet, market_id: zeroHash },
        { wallet, market_id: vectors.markets[0]?.id as Hex },
      ],
      chain.blocks[LAST] ?? 0,
    )
    expect(gone).toBe('gone')
    expect(tell(empty)).toMatchObject({
      health_factor: MAX,
      is_liquidatable: false,
      due_in_sec: MAX,
      total_debt_usd: '0.000000',
    })
  },
  LIMIT_MS,
)

/** Codes of oracles that do not tell a price: without end, with half a word, with an answer of 48 kB, without code. */
const HOSTILE = ['0x5b5f56', '0x60105ff3', '0x61bb805ffd', '0x'] as const

test(
  'oracles that burn all gas, answer rubbish or are not there make the health of their debts unknown, and nothing else',
  async () => {
    const { rpc } = chain
    const checkpoint = vectors.checkpoints[LAST]
    const position = checkpoint?.positions
      .filter(({ debt, maxDebt }) => debt !== '0' && maxDebt !== null)
      .toSorted((a, b) => b.collateral.length - a.collateral.length)[0]
    if (checkpoint === undefined || position === undefined) throw new Error('Expected a debt')
    const { id = '0x', collateralParams = [] } = vectors.markets[position.market] ?? {}
    const wallet = vectors.wallets[position.wallet] as Address
    const oracles = position.collateral.map(({ index }) => collateralParams[index]?.oracle)
    for (const [turn, code] of HOSTILE.entries()) {
      await placeCheckpoint(rpc, vectors, { checkpoint })
      for (const oracle of oracles) await rpc.call('anvil_setCode', oracle, code)
      const block = await mineAt(rpc, checkpoint.time + 1_000 * (turn + 1))
      const [figures] = await confirm([{ wallet, market_id: id }], block)
      expect(tell(figures)).toMatchObject({ health_factor: null, is_liquidatable: null })
      expect(tell(figures)['total_debt_usd']).toBe(toFigures(position, checkpoint).total_debt_usd)
      const { rows, notRead } = await reader.read(wallet, block)
      const owed = rows.find(({ kind, position: { market_id } }) => kind === 'borrowed' && market_id === id)
      expect([owed?.amount, owed?.term?.healthFactor, owed?.term?.liquidatableBecause]).toEqual([
        BigInt(position.debt),
        undefined,
        [],
      ])
      for (const row of rows.filter(({ isCollateral, position: { market_id } }) => isCollateral && market_id === id))
        expect(row.withdrawable).toEqual({ amount: 0n, limitedBy: 'price' })
      expect(notRead).toEqual([])
    }
  },
  LIMIT_MS,
)
