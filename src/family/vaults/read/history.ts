import { type Address, getAddress, type Hex, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { encodeCall, toLowerHex, tryDecodeAddress, tryDecodeUint } from '../../../chain/call/words.ts'
import { type ChainClient, ContractUnresponsiveError } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { createPriceReader } from '../../../finance/price/past/price_reader.ts'
import { createTokenReader, type TokenFacts } from '../../../finance/token/read_tokens.ts'
import type { StreamTarget } from '../../../history/stream.ts'
import { forEachLimit } from '../../../lib/async/parallel.ts'
import { noteUnwitnessed, type Work } from '../../../lib/async/work.ts'
import { CodedError, PendingError, UnavailableError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { FamilyServices } from '../../contract.ts'
import { foldShares, type VaultFlow } from '../event/flow.ts'
import { NO_HOLDER } from '../event/log.ts'
import { computePnl, type ValuedFlow, type VaultPnl } from '../event/pnl.ts'
import { readFlows, readFlowsPage } from './flows.ts'
import { BALANCE_OF, createVaultStream, NAME } from './stream.ts'
import { type BlockWorth, CONVERT_TO_ASSETS, createWorthReader } from './worth.ts'

const ASSET = toFunctionSelector('asset()')
const BUDGET_MS = 4_000
/** More flows are not valued in one answer. */
const FLOWS_MAX = 20_000
const INCOMPLETE_RETRY_SEC = 5
/** Blocks that are read at the same time. */
const BLOCKS_AT_ONCE = 8
/** Flows whose worths and prices are read before the next ones: a caller who leaves finds them on the retry. */
const PIECE_FLOWS = 100

const NO_WALLET =
  'Cannot read parameter "wallet": expected an address that can have shares, got the zero address, from which shares are made'

/** A wallet's life in a vault, up to a block. */
interface LifeQuery {
  readonly client: FinanceClient
  readonly vault: Address
  readonly wallet: Address
  /** A block before which the vault has no events; 0 if that is not known. */
  readonly startBlock: number
  /** The block of the answer; absent: the newest that history reaches. */
  readonly block?: PinnedBlock | undefined
}

/** The tokens of a vault, lower case. */
export interface VaultTokens {
  readonly vault: TokenFacts & { readonly address: Hex }
  readonly asset: TokenFacts & { readonly address: Hex }
}

/** One page of flows, newest first, as of a block. */
interface EventsRead {
  readonly tokens: VaultTokens
  readonly flows: readonly ValuedFlow[]
  readonly total: number
  readonly block: PinnedBlock
}

/** What shares brought, as of a block. */
export interface PnlRead {
  readonly tokens: VaultTokens
  readonly shares: bigint
  readonly pnl: VaultPnl
  readonly block: PinnedBlock
}

/** Reads what wallets did in vaults. */
export type VaultHistoryReader = ReturnType<typeof createVaultHistoryReader>

/** Creates a reader over the history of the process. */
export function createVaultHistoryReader({
  db,
  history,
  clock,
  firstBlocks,
}: Pick<FamilyServices, 'db' | 'history' | 'clock' | 'firstBlocks'>) {
  const stream = createVaultStream({ clock })
  const tokens = createTokenReader(clock)
  const prices = createPriceReader({ db, clock })
  const readWorth = createWorthReader(clock)

  /** The vault as a target of its stream; its first block is searched in the background if it is not known. */
  function toTarget({ client, vault, startBlock }: LifeQuery): StreamTarget {
    const target = { chainId: client.chain.id, contract: toLowerHex(vault), startBlock }
    if (startBlock > 0) return target
    const probe = { contract: vault, getters: [] }
    const found = firstBlocks?.get(client.chain.id, probe)
    if (found === undefined) firstBlocks?.want(client, probe)
    return { ...target, startBlock: Number(found ?? 0n) }
  }

  async function ensure(query: LifeQuery, work: Work) {
    const subject = toLowerHex(query.wallet)
    // Its logs are those of all deposits and withdrawals, which would hold up the wallets that are read with it.
    if (subject === NO_HOLDER) throw new CodedError('INVALID_PARAMETER', NO_WALLET)
    const target = toTarget(query)
    const ensured = await history.ensure({ stream, target, subject, upTo: query.block?.number }, work)
    if (!ensured.isAgreed) noteUnwitnessed(work, [target.chainId])
    const isEarlier = query.block !== undefined && query.block.number < ensured.block.number
    const block = isEarlier ? query.block : ensured.block
    const tail = ensured.tail.filter((flow) => BigInt(flow.block) <= block.number)
    const storedTo = Math.min(ensured.storedTo, Number(block.number))
    return { target, wallet: subject, block, newest: ensured.block, storedTo, tail, finalTo: ensured.storedTo }
  }

  /** What the vault answers at the block of an answer. Throws `UnavailableError`. */
  async function readState(
    { client, vault, wallet }: LifeQuery,
    { block, shares }: { readonly block: PinnedBlock; readonly shares: bigint },
    work: Work,
  ) {
    const calls = [
      { to: vault, data: ASSET },
      { to: vault, data: encodeCall(BALANCE_OF, wallet) },
      { to: vault, data: encodeCall(CONVERT_TO_ASSETS, shares) },
    ]
    const answers = await client.read(
      async (endpoint, within) => {
        const { results } = await readMulticall(endpoint, { calls, block, clock }, within)
        const [asset, balance, worth] = results
        const address = tryDecodeAddress(asset)
        if (address === undefined) throw new ContractUnresponsiveError(`vault ${vault} does not answer`)
        return { asset: toLowerHex(address), balance: tryDecodeUint(balance), worth: tryDecodeUint(worth) }
      },
      { work, budgetMs: BUDGET_MS, past: block },
    )
    const vaultToken = toLowerHex(vault)
    const facts = await tokens.readFacts(client, [...new Set([vaultToken, answers.asset])], work)
    const toToken = (address: Hex) => {
      const token = facts.get(address)
      if (token === undefined) throw new Error('Every requested token has facts')
      return { ...token, address }
    }
    return { ...answers, tokens: { vault: toToken(vaultToken), asset: toToken(answers.asset) } }
  }

  /** Adds times, worths and prices to flows, in their order. Throws as the reader of worths and that of prices. */
  async function valueFlows(
    { client, vault }: LifeQuery,
    { flows, asset, finalTo }: { readonly flows: readonly VaultFlow[]; readonly asset: Hex; readonly finalTo: number },
    work: Work,
  ): Promise<ValuedFlow[]> {
    const valued: ValuedFlow[] = []
    work.onTimeout(() => createPendingError(client, { vault, done: valued.length, total: flows.length }))
    for (let start = 0; start < flows.length; start += PIECE_FLOWS) {
      const piece = flows.slice(start, start + PIECE_FLOWS)
      const read = new Map<number, BlockWorth>()
      const readBlock = async ([number, group]: readonly [number, readonly VaultFlow[]], within: Work) => {
        const shares = [...new Set(group.flatMap((flow) => (flow.assets === undefined ? flow.shares : [])))]
        if (shares.length === 0 && group.every(({ timestampSec }) => timestampSec !== null)) return
        const question = { vault: toLowerHex(vault), number, shares, isFinal: number <= finalTo }
        read.set(number, await readWorth(client, question, within))
      }
      await forEachLimit([...groupBy(piece, ({ block }) => block)], BLOCKS_AT_ONCE, readBlock, work)
      const timed = piece.map((flow) => addWorth(flow, read.get(flow.block)))
      const requests = timed.map(({ block, timestampSec }) => ({
        token: getAddress(asset),
        block: { number: BigInt(block), timestampSec: BigInt(timestampSec) },
        isFinal: block <= finalTo,
      }))
      const outcomes = await prices.pricesAt(client, { source: { kind: 'chain' }, requests }, work)
      for (const [index, flow] of timed.entries()) {
        const outcome = outcomes[index]
        const because = outcome?.kind === 'missing' ? outcome.because : 'no source of its price was asked'
        valued.push({ ...flow, price: outcome?.kind === 'price' ? outcome.price : { because } })
      }
    }
    return valued
  }

  function requireStored<Read>(client: ChainClient, read: Read | undefined): Read {
    if (read !== undefined) return read
    throw new UnavailableError(
      `The history of chain ${client.chain.id} (${client.chain.name}) is not complete any more`,
    )
  }

  /** All flows up to the block of an answer, oldest first. */
  async function readAll(query: LifeQuery, life: Awaited<ReturnType<typeof ensure>>): Promise<readonly VaultFlow[]> {
    const { target, wallet, storedTo, tail } = life
    const none = { total: 0, flows: [] }
    const isNoneStored = storedTo < target.startBlock
    const read = isNoneStored
      ? none
      : await readFlows(db, { target, stream: NAME, wallet, toBlock: storedTo, max: FLOWS_MAX })
    const { total, flows } = requireStored(query.client, read)
    if (total + tail.length > FLOWS_MAX) {
      throw new CodedError(
        'NOT_FOUND',
        `Cannot count the profit and loss of wallet ${query.wallet} in vault ${query.vault}: it has more than ` +
          `${FLOWS_MAX} events, which its events list`,
      )
    }
    return [...flows.toReversed(), ...[...tail].sort(oldestFirst)]
  }

  return {
    /**
     * Reads a page of what changed a wallet's shares. Throws `UnavailableError` with the progress until its history is
     * complete, and naming the remedy if what moved cannot be valued; `CodedError` INVALID_PARAMETER for the zero address.
     */
    async readEvents(
      { page, limit, ...query }: LifeQuery & { readonly page: number; readonly limit: number },
      work: Work,
    ): Promise<EventsRead> {
      const { client } = query
      const { target, wallet, block, newest, storedTo, tail, finalTo } = await ensure(query, work)
      const skip = (page - 1) * limit
      const young = [...tail]
        .sort(oldestFirst)
        .reverse()
        .slice(skip, skip + limit)
      const isNoneStored = storedTo < target.startBlock
      const stored = isNoneStored
        ? { total: 0, flows: [] }
        : await readFlowsPage(db, {
            target,
            stream: NAME,
            wallet,
            toBlock: storedTo,
            skip: Math.max(0, skip - tail.length),
            max: limit - young.length,
          })
      const { total, flows } = requireStored(client, stored)
      // A vault's asset stays, and endpoints keep the newest state longest.
      const state = await readState(query, { block: newest, shares: 0n }, work)
      const asset = state.tokens.asset.address
      const valued = await valueFlows(query, { flows: [...young, ...flows], asset, finalTo }, work)
      return { tokens: state.tokens, flows: valued, total: total + tail.length, block }
    },
    /**
     * Counts what a wallet's shares brought. Throws as `readEvents`; `UnavailableError` if the flows do not add up to the
     * balance; `CodedError` NOT_FOUND if there are too many of them.
     */
    async readPnl(query: LifeQuery, work: Work): Promise<PnlRead> {
      const { client } = query
      const life = await ensure(query, work)
      const { block, finalTo } = life
      const flows = await readAll(query, life)
      const shares = foldShares(flows)
      const state = await readState(query, { block, shares: shares < 0n ? 0n : shares }, work)
      if (state.balance !== shares) throw createIncompleteError(query, { shares, balance: state.balance })
      if (state.worth === undefined) throw createSilentError(query)
      const { number, timestampSec, hash } = block
      const asset = state.tokens.asset.address
      const request = {
        token: getAddress(asset),
        block: { number, timestampSec, hash },
        isFinal: Number(number) <= finalTo,
      }
      const valued = await valueFlows(query, { flows, asset, finalTo }, work)
      const [now] = await prices.pricesAt(client, { source: { kind: 'chain' }, requests: [request] }, work)
      const price = now?.kind === 'price' ? now.price : { because: now?.because ?? 'no source of its price was asked' }
      const pnl = computePnl(valued, { worth: state.worth, decimals: state.tokens.asset.decimals, price })
      return { tokens: state.tokens, shares, pnl, block }
    },
  }
}

/** A flow with the time of its block, and what its shares were worth there if they moved without assets. */
function addWorth(flow: VaultFlow, read: BlockWorth | undefined): Omit<ValuedFlow, 'price'> {
  const timestampSec = flow.timestampSec ?? read?.timestampSec
  const assets = flow.assets ?? read?.assets.get(flow.shares)
  if (timestampSec === undefined || assets === undefined) throw new Error('The block of every such flow was read')
  return { ...flow, timestampSec, assets }
}

function oldestFirst(a: VaultFlow, b: VaultFlow): number {
  return a.block - b.block || a.logIndex - b.logIndex
}

function createPendingError(
  { chain: { id, name } }: ChainClient,
  { vault, done, total }: { readonly vault: Address; readonly done: number; readonly total: number },
): PendingError {
  const percent = Math.floor((100 * done) / Math.max(1, total))
  return new PendingError(
    `The history of vault ${vault} on chain ${id} (${name}) is read; what its flows were worth is being read: ${percent} %`,
    { progress: { percent } },
  )
}

function createIncompleteError(
  { client: { chain }, vault, wallet }: LifeQuery,
  { shares, balance }: { readonly shares: bigint; readonly balance: bigint | undefined },
): UnavailableError {
  return new UnavailableError(
    `The history of wallet ${wallet} in vault ${vault} on chain ${chain.id} is not complete: its logs add up to ${shares} ` +
      `shares, and its balance is ${balance ?? 'not told'}`,
    { retryAfterSec: INCOMPLETE_RETRY_SEC },
  )
}

function createSilentError({ client: { chain }, vault }: LifeQuery): UnavailableError {
  return new UnavailableError(
    `Cannot count profit and loss in vault ${vault} of chain ${chain.id} because the vault does not tell what its shares are worth`,
    { retryAfterSec: INCOMPLETE_RETRY_SEC },
  )
}
