import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { Holdings } from '../../../../src/family/holding.ts'
import { MIDNIGHT_EVENTS } from '../../../../src/family/morpho_midnight/event/log.ts'
import type { History } from '../../../../src/history/stream.ts'
import { PendingError } from '../../../../src/lib/error.ts'
import { emitLogs, mineAt, placeCheckpoint } from '../../../devnet/morpho_midnight/mod.ts'
import {
  findMarket,
  type MidnightChain,
  type MidnightReader,
  startMidnightChain,
  startReader,
  vectors,
} from './support.ts'

const LIMIT_MS = 120_000
const LAST = vectors.checkpoints.length - 1

let chain: MidnightChain
const readers: MidnightReader[] = []

beforeAll(async () => {
  chain = await startMidnightChain()
}, LIMIT_MS)
afterAll(async () => {
  for (const reader of readers) await reader.close()
  await chain?.anvil.stop()
}, LIMIT_MS)

async function start(
  rpcUrl: string,
  wrap?: (history: History) => History,
  limits?: Parameters<typeof startReader>[2],
): Promise<MidnightReader> {
  const reader = await startReader([rpcUrl], wrap, limits)
  readers.push(reader)
  return reader
}

/** Markets in which a wallet owes or has collateral, and those in which it has credit. */
function listMarkets({ rows }: Pick<Holdings, 'rows'>) {
  const find = (isWanted: (row: Holdings['rows'][number]) => boolean) =>
    [...new Set(rows.filter(isWanted).map(({ position }) => findMarket(position['market_id']).index))].sort()
  return {
    secured: find(({ kind, isCollateral }) => kind === 'borrowed' || isCollateral === true),
    credited: find(({ isCollateral }) => isCollateral === false),
  }
}

/** The same as the contract has it at the last checkpoint. */
function listTrueMarkets(wallet: number) {
  const positions = vectors.checkpoints[LAST]?.positions.filter((each) => each.wallet === wallet) ?? []
  const find = (isWanted: (position: (typeof positions)[number]) => boolean) =>
    positions
      .filter(isWanted)
      .map(({ market }) => market)
      .sort()
  return {
    secured: find(({ debt, collateral }) => debt !== '0' || collateral.length > 0),
    credited: find(({ view }) => view.credit !== '0'),
  }
}

const CREDITS = /^credits in morpho-midnight that the wallet bought by offers of its own/
const DEBTS = /^debts in markets of morpho-midnight whose logs are missing/

/** A history that never comes to an end where strangers can lengthen it. */
const delayed = (history: History): History => ({
  ...history,
  ensure(request, work) {
    if (request.stream.name === 'morpho_midnight_life') throw new PendingError('It is read')
    return history.ensure(request, work)
  },
})

test(
  'while takes of its offers are not all read, a wallet has every debt and collateral, and its credits are named',
  async () => {
    const { read } = await start(chain.anvil.rpcUrl, delayed)
    let [secured, missing] = [0, 0]
    for (const [number, wallet] of vectors.wallets.entries()) {
      const held = await read(wallet)
      expect(held.notRead).toEqual([expect.stringMatching(CREDITS)])
      const [found, all] = [listMarkets(held), listTrueMarkets(number)]
      expect(found.secured).toEqual(all.secured)
      expect(found.credited.filter((market) => !all.credited.includes(market))).toEqual([])
      secured += found.secured.length
      missing += all.credited.length - found.credited.length
    }
    expect([secured > 20, missing > 0]).toEqual([true, true])
  },
  LIMIT_MS,
)

test(
  'an answer about a past block waits for them, because it stays',
  async () => {
    const { read } = await start(chain.anvil.rpcUrl, delayed)
    await expect(read(vectors.wallets[0] as Address, chain.blocks[LAST])).rejects.toThrow('It is read')
  },
  LIMIT_MS,
)

test(
  'of too many markets those with debts and collateral are read first, and the others may have debts',
  async () => {
    const { read } = await start(chain.anvil.rpcUrl)
    const wallet = vectors.wallets[3] as Address
    for (const turn of ['first', 'read ahead']) {
      const [all, some] = [await read(wallet), await read(wallet, undefined, 5)]
      expect([turn, all.notRead, all.omitted]).toEqual([turn, [], undefined])
      expect(some.omitted).toMatchObject({ family: 'morpho-midnight', count: 1 })
      expect(some.notRead).toEqual(['debts in 1 more markets of morpho-midnight'])
    }
  },
  LIMIT_MS,
)

test(
  'a log that is missing in a market that is known is noticed: the replay is not what the contract has',
  async () => {
    const { topics } = MIDNIGHT_EVENTS
    const repaid = vectors.logs.filter(([, , [event]]) => event === topics.repay)
    const [lost] = repaid
    const borrower = `0x${lost?.[2][3]?.slice(26)}`
    const wallet = vectors.wallets.find((each) => each.toLowerCase() === borrower)
    if (lost === undefined || wallet === undefined) throw new Error('Expected a repayment')
    const forgetful = await startMidnightChain((log) => log !== lost)
    try {
      // In pages of three rows a life is replayed in its order too.
      const { read } = await start(forgetful.anvil.rpcUrl, undefined, { pageRows: 3 })
      const held = await read(wallet)
      expect(held.notRead).toEqual([expect.stringMatching(DEBTS)])
      await expect(read(wallet, forgetful.blocks[LAST])).rejects.toThrow(/check "replay"/)
      // Other wallets' logs are all there.
      const other = vectors.wallets.find((each) => each !== wallet) as Address
      expect((await read(other)).notRead).toEqual([])
    } finally {
      await forgetful.anvil.stop()
    }
  },
  LIMIT_MS,
)

test(
  'a life with more changes than are replayed is not proven: its debts are read, now and in the past, its credits named',
  async () => {
    const { read } = await start(chain.anvil.rpcUrl, undefined, { rowsMax: 2 })
    const number = vectors.wallets.findIndex((_, index) => listTrueMarkets(index).secured.length > 1)
    for (const held of [
      await read(vectors.wallets[number] as Address),
      await read(vectors.wallets[number] as Address, chain.blocks[LAST]),
    ]) {
      expect(held.notRead).toEqual([expect.stringMatching(CREDITS)])
      expect(listMarkets(held).secured).toEqual(listTrueMarkets(number).secured)
    }
  },
  LIMIT_MS,
)

test(
  'takes of nothing by strangers change no row and are not kept',
  async () => {
    const { rpc, send } = chain
    const checkpoint = vectors.checkpoints[LAST]
    const empty = vectors.logs.filter(([, , [event, , , taker]]) => {
      return event === MIDNIGHT_EVENTS.topics.take && taker?.endsWith(vectors.stranger.slice(2).toLowerCase())
    })
    const [first] = empty
    const maker = vectors.wallets.find((wallet) => first?.[2][2]?.endsWith(wallet.slice(2).toLowerCase()))
    if (checkpoint === undefined || first === undefined || maker === undefined) throw new Error('Expected such a take')
    const { read, database } = await start(chain.anvil.rpcUrl)
    const before = await read(maker, chain.blocks[LAST])
    await emitLogs({ rpc, send }, { address: vectors.midnight, logs: Array.from({ length: 400 }, () => first) })
    await placeCheckpoint(rpc, vectors, { checkpoint })
    const block = await mineAt(rpc, checkpoint.time + 86_400)
    const after = await read(maker, block)
    expect([listMarkets(after), after.notRead]).toEqual([listMarkets(before), []])
    const kept = await database.db.run('select log_index from lending_event where block > $1', [
      chain.blocks[LAST] ?? 0,
    ])
    expect(kept).toEqual([])
  },
  LIMIT_MS,
)
