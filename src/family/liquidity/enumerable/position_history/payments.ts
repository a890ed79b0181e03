import { type Address, type Hex, toFunctionSelector, zeroAddress } from 'viem'
import { type ReturnData, readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall, toLowerHex, tryDecodeAddress, tryDecodeUint } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import { getCacheTtlMs, noteWitnesses, readByQuorum } from '../../../../chain/past/quorum.ts'
import { type ChainClient, type Endpoint, isUnavailable } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { History } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import { allOrAbort, mapChunks } from '../../../../lib/async/parallel.ts'
import { noteUnwitnessed, type Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { PendingError, UnavailableError, UpstreamError } from '../../../../lib/error.ts'
import { type CustodyEvent, readWalletEvents, type WalletEvent } from '../../position_history/custody_event.ts'
import type { Custodian } from '../../protocol.ts'
import type { WalletPayments } from '../exchange.ts'
import { type ClaimBlock, type Due, listClaimBlocks, matchClaims } from './claims.ts'
import { createWalletStream, WALLET_EVENTS_MAX } from './wallet_stream.ts'

/** Positions of a wallet at one custodian whose payments are told apart. */
const TOGETHER_MAX = 50
/** Wallets that staked one position: each has a history of its own. */
const WALLETS_MAX = 20
/** Blocks of one position with payments that are told apart by the state. */
const BLOCKS_MAX = 200
const BLOCKS_AT_ONCE = { size: 4, runningMax: 2 }
const CACHED_MAX = 10_000
const POSITIONS = toFunctionSelector('positions(uint256)')
/** The word of `positions` that has the liquidity. */
const LIQUIDITY_WORD = 7

/** A position at a custodian that pays wallets. */
interface PaidPosition {
  readonly client: ChainClient
  readonly manager: Address
  readonly custodian: Custodian
  readonly tokenId: bigint
  readonly block?: bigint | undefined
  /** What the custodian logged of it, oldest first; final up to `finalTo`, none missing up to `end`. */
  readonly events: readonly CustodyEvent[]
  readonly finalTo: number
  readonly end: number
}

/** Payments of a position, oldest first; `unpaid`: why some are not told, words after "because". */
export interface PaymentsRead {
  readonly events: readonly CustodyEvent[]
  readonly finalTo: number
  readonly end: number
  readonly unpaid?: string | undefined
}

/** A wallet at the custodian of a position. */
interface WalletQuery extends PaidPosition {
  readonly wallet: Hex
  /** The block in which the wallet staked the position for the first time. */
  readonly fromBlock: number
}

/**
 * Creates a reader of what a custodian paid for a position, where its logs name the wallet alone. A wallet that had one
 * position there was paid for it. Among several, the state before and after each block tells what each was due. Throws
 * as `History.ensure`.
 */
export function createPaymentsReader(
  payments: WalletPayments,
  { db, history, clock }: { readonly db: Database; readonly history: History; readonly clock: Clock },
) {
  const stream = createWalletStream(payments, clock)
  const { getters } = payments
  const tokens = createCache<Address>({ clock, entriesMax: CACHED_MAX })
  const dueLists = createCache<readonly Due[] | undefined>({ clock, entriesMax: CACHED_MAX })
  const stakedLists = createCache<readonly bigint[] | undefined>({ clock, entriesMax: CACHED_MAX })

  async function readRows({ wallet, fromBlock, ...query }: WalletQuery, work: Work) {
    const { client, custodian, block } = query
    const target = {
      chainId: client.chain.id,
      contract: toLowerHex(custodian.address),
      startBlock: custodian.startBlock,
    }
    const request = { stream, target, subject: wallet, startBlock: fromBlock, upTo: block }
    const { storedTo, tail, isAgreed, block: end } = await history.ensure(request, work)
    if (!isAgreed) noteUnwitnessed(work, [client.chain.id])
    const part = { target, stream: stream.name, wallet, fromBlock, toBlock: storedTo, max: WALLET_EVENTS_MAX + 1 }
    const stored = storedTo < fromBlock ? [] : await readWalletEvents(db, part)
    if (stored === undefined) throw new PendingError(`What ${custodian.address} paid ${wallet} is not stored yet`)
    const last = Number(block ?? end.number)
    const rows = [...stored, ...tail].filter((row) => row.block <= last)
    if (rows.length > WALLET_EVENTS_MAX)
      throw new UnavailableError(`${wallet} has more than ${WALLET_EVENTS_MAX} events at ${custodian.address}`)
    return { rows, finalTo: storedTo, end: Number(end.number) }
  }

  /** Reads words of contracts at the ends of blocks, on which endpoints agree. */
  async function readWords(
    client: ChainClient,
    parts: readonly {
      readonly number: bigint
      readonly calls: readonly { readonly to: Address; readonly data: Hex }[]
    }[],
    work: Work,
  ) {
    const { id: chainId } = client.chain
    const attempt = (endpoint: Endpoint, within: Work) =>
      allOrAbort(
        parts.map(({ number, calls }) => async (shared: Work) => {
          return (await readMulticall(endpoint, { calls, block: { chainId, number }, clock }, shared)).results
        }),
        within,
      )
    const [first] = parts
    const past = { number: first?.number ?? 0n, timestampSec: 0n }
    const what = `what a custodian counted at block ${past.number}`
    const { value, endpoints } = await readByQuorum(client, attempt, { work, past, what, toText: JSON.stringify })
    noteWitnesses(client, endpoints.length, work)
    return { value, lifeMs: getCacheTtlMs(client, endpoints.length) }
  }

  /** Reads which positions the wallet had there before; undefined if there are too many. */
  function readStaked({ client, custodian: { address: to }, wallet, fromBlock }: WalletQuery, work: Work) {
    const read = async (shared: Work) => {
      const number = BigInt(fromBlock - 1)
      const count = { to, data: encodeCall(getters.count, BigInt(wallet)) }
      const counted = await readWords(client, [{ number, calls: [count] }], shared)
      // The custodian may not have stood yet.
      const length = tryDecodeUint(counted.value[0]?.[0]) ?? 0n
      if (length === 0n) return { ...counted, value: [] }
      if (length > TOGETHER_MAX) return { ...counted, value: undefined }
      const calls = Array.from({ length: Number(length) }, (_, place) => ({
        to,
        data: encodeCall(getters.item, BigInt(wallet), BigInt(place)),
      }))
      const { value, lifeMs } = await readWords(client, [{ number, calls }], shared)
      const ids = (value[0] ?? []).flatMap((answer) => tryDecodeUint(answer) ?? [])
      if (ids.length !== calls.length) throw new UpstreamError(`${to} does not list what ${wallet} has there`)
      return { value: ids, lifeMs: Math.min(lifeMs, counted.lifeMs) }
    }
    return stakedLists.get({ key: `${client.chain.id}:${to}:${wallet}:${fromBlock}`, read }, work)
  }

  /** The same; why they are not told, words after "because". */
  async function readStakedOrReason(query: WalletQuery, work: Work): Promise<readonly bigint[] | string> {
    try {
      return (await readStaked(query, work)) ?? 'its wallet had too many positions at its custodian'
    } catch (error) {
      if (isUnavailable(error, 'pruned')) return 'no endpoint has the state before it was staked'
      throw error
    }
  }

  /** Reads what each position was due in a block; undefined if the state does not tell. */
  function readDues(query: WalletQuery, claim: ClaimBlock, isFinal: boolean, work: Work) {
    const { client, manager, custodian, wallet } = query
    const { block, tokenIds, forfeited } = claim
    const read = async (shared: Work) => {
      const counted = tokenIds.flatMap((tokenId) =>
        [getters.growth, getters.owed].map((getter) => ({ to: custodian.address, data: encodeCall(getter, tokenId) })),
      )
      const liquidity = tokenIds.map((tokenId) => ({ to: manager, data: encodeCall(POSITIONS, tokenId) }))
      const parts = [
        { number: BigInt(block - 1), calls: [...counted, ...liquidity] },
        { number: BigInt(block), calls: counted },
      ]
      const { value, lifeMs } = await readWords(client, parts, shared)
      const [before = [], after = []] = value
      const toDue = (tokenId: bigint, index: number): Due[] => {
        const words = [before[2 * index], before[2 * index + 1], after[2 * index], after[2 * index + 1]]
        const [growth, owed, grown, left] = words.map((answer) => tryDecodeUint(answer))
        const units = decodeLiquidity(before[counted.length + index])
        if (growth === undefined || owed === undefined || grown === undefined || left === undefined) return []
        if (units === undefined) return []
        const counts = payments.computeGrown({ before: growth, after: grown }, units)
        return [{ tokenId, amount: counts + owed - left - (forfeited.get(tokenId) ?? 0n) }]
      }
      const dues = tokenIds.flatMap(toDue)
      return { value: dues.length === tokenIds.length ? dues : undefined, lifeMs: isFinal ? lifeMs : 0 }
    }
    return dueLists.get({ key: `${client.chain.id}:${custodian.address}:${wallet}:${block}`, read }, work)
  }

  /** Reads a position's payments in a block; why they are not told, words after "because". */
  async function readOwn(query: WalletQuery, claim: ClaimBlock, isFinal: boolean, work: Work) {
    const { tokenId } = query
    if (!claim.tokenIds.includes(tokenId)) return []
    if (claim.tokenIds.length === 1) return claim.claims
    const together = `its wallet was paid for several positions in block ${claim.block}`
    if (claim.tokenIds.length > TOGETHER_MAX) return `${together}, more than ${TOGETHER_MAX}`
    try {
      const dues = await readDues(query, claim, isFinal, work)
      const own = dues && matchClaims(claim.claims, dues, tokenId)
      return own ?? `${together}, and the state does not tell them apart`
    } catch (error) {
      if (isUnavailable(error, 'pruned')) return `${together}, and no endpoint has the state of it`
      throw error
    }
  }

  async function readToken(client: ChainClient, to: Address, work: Work): Promise<Address> {
    const read = async (shared: Work) => {
      const { number } = await client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), {
        work: shared,
      })
      const { value, lifeMs } = await readWords(client, [{ number, calls: [{ to, data: getters.token }] }], shared)
      const token = tryDecodeAddress(value[0]?.[0])
      if (token === undefined || token === zeroAddress) throw new UpstreamError(`${to} does not tell what it pays`)
      return { value: token, lifeMs }
    }
    return await tokens.get({ key: `${client.chain.id}:${to}`, read }, work)
  }

  async function readWallet(query: WalletQuery, work: Work): Promise<PaymentsRead> {
    const { tokenId, client, custodian } = query
    const { rows, finalTo, end } = await readRows(query, work)
    const bounds = { finalTo, end }
    const last = Math.min(end, query.end)
    if (!hasSameStakes(query, rows, last))
      return { ...bounds, events: [], unpaid: 'its stakes are not those of its wallet' }
    const staked = await readStakedOrReason(query, work)
    if (typeof staked === 'string') return { ...bounds, events: [], unpaid: staked }
    const blocks = listClaimBlocks(rows, staked).filter(({ tokenIds }) => tokenIds.includes(tokenId))
    if (blocks.filter(({ tokenIds }) => tokenIds.length > 1).length > BLOCKS_MAX)
      return { ...bounds, events: [], unpaid: 'its wallet was paid for several positions too often' }
    const found = await mapChunks(
      blocks,
      BLOCKS_AT_ONCE,
      (some, within) =>
        allOrAbort(
          some.map((claim) => (shared: Work) => readOwn(query, claim, claim.block <= finalTo, shared)),
          within,
        ),
      work,
    )
    const own = found.flatMap((each) => (typeof each === 'string' ? [] : each))
    const token = own.length > 0 ? await readToken(client, custodian.address, work) : undefined
    const events = own.map((row): CustodyEvent => ({ ...row, tokenId, ...(token && { token }) }))
    return { ...bounds, events, unpaid: found.find((each) => typeof each === 'string') }
  }

  return async (position: PaidPosition, work: Work): Promise<PaymentsRead> => {
    const { events, finalTo, end } = position
    const firsts = new Map<Hex, number>()
    for (const { wallet, kind, block } of events) {
      if (kind === 'stake' && !firsts.has(wallet)) firsts.set(wallet, block)
    }
    if (firsts.size > WALLETS_MAX)
      return { events: [], finalTo, end, unpaid: `more than ${WALLETS_MAX} wallets have staked it` }
    const reads = await allOrAbort(
      [...firsts].map(
        ([wallet, fromBlock]) =>
          (within: Work) =>
            readWallet({ ...position, wallet, fromBlock }, within),
      ),
      work,
    )
    return {
      events: reads.flatMap((read) => read.events),
      finalTo: Math.min(finalTo, ...reads.map((read) => read.finalTo)),
      end: Math.min(end, ...reads.map((read) => read.end)),
      unpaid: reads.find(({ unpaid }) => unpaid !== undefined)?.unpaid,
    }
  }
}

/** True if the wallet's events have the same stakes of a position as the events of the position, up to a block. */
function hasSameStakes({ tokenId, wallet, events }: WalletQuery, rows: readonly WalletEvent[], last: number): boolean {
  const toText = (some: readonly WalletEvent[]) =>
    some
      .filter((row) => row.tokenId === tokenId && row.wallet === wallet && row.block <= last)
      .map(({ block, logIndex, kind }) => [block, logIndex, kind].join())
      .join(';')
  return toText(events) === toText(rows)
}

function decodeLiquidity(answer: ReturnData): bigint | undefined {
  const isWhole = answer !== undefined && answer.length >= 2 + 64 * (LIQUIDITY_WORD + 1)
  return isWhole ? decodeWord(answer, LIQUIDITY_WORD) : undefined
}
