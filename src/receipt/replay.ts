import { type Hex, zeroHash } from 'viem'
import { matchesBlock } from '../chain/block.ts'
import { decodeLensPage } from '../chain/call/cursor.ts'
import { encodeDeploylessRevert } from '../chain/call/deployless.ts'
import type { Chain } from '../chain/chain.ts'
import {
  type ChainRecord,
  getCallKey,
  getResultKey,
  hashLensCode,
  isHeaderMethod,
  isLatestHeaderRequest,
  type LensQuery,
  listOthers,
  RECORDED_GAS,
  type RecordedCall,
  toLensQuestion,
} from '../chain/receipt/record.ts'
import {
  type ChainClient,
  type Endpoint,
  type EthCall,
  RevertError,
  RpcRefusedError,
  type RpcRequest,
} from '../chain/rpc/client.ts'
import { type FamilyServices, refuseToConnect } from '../family/contract.ts'
import { moment } from '../http/request/input.ts'
import { readParameters } from '../http/request/parameters.ts'
import type { Statement } from '../http/route/receipt.ts'
import type { Answer, ReadContext, Route, RouteCall } from '../http/route/route.ts'
import { createRouteTable } from '../http/route/route_table.ts'
import { createWork } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError, UpstreamError } from '../lib/error.ts'
import { silentLog } from '../lib/log.ts'
import { type StatedAnswer, stateReply } from './payload.ts'
import type { ParsedReceiptSettings } from './settings.ts'
import { createSubjectRoutes } from './subject.ts'
import { replayTestimony, type Told } from './testimony.ts'

/** The result of answering a statement from records alone. */
export interface ReplayedAnswer {
  readonly answer: StatedAnswer
  /** Paths of figures that records do not cover: their values in `answer` are meaningless. */
  readonly uncovered: readonly string[]
  /** Reasons why these are not the records of the answer, as sentences. */
  readonly faults: readonly string[]
  /** Requested calls of the records, with their code. */
  readonly queries: ReadonlyMap<RecordedCall, LensQuery>
  /** What the request asks for. */
  readonly receipt: RouteCall['receipt']
  readonly atTimeSec: RouteCall['atTimeSec']
}

/** Placeholder base URL, because a stated answer has no host. */
const NOWHERE = 'http://walletscope.invalid'
const BUDGET_MS = 60_000

/** Finds the route call of a statement. Throws `CodedError` as the route does, or NOT_FOUND without a route. */
export async function toRouteCall(
  routes: readonly Route[],
  { method, path, query, body }: Statement,
): Promise<RouteCall> {
  const match = createRouteTable(routes, new Map()).find(method, path)
  if (match.kind !== 'endpoint') throw new CodedError('NOT_FOUND', `There is no route ${method} ${path}`)
  const { endpoint, params } = match
  const { route } = endpoint
  const accepted = await route.accept({
    parameters: () => readParameters(route.input, { params, query }),
    body: async () => ({ value: () => body }),
  })
  return accepted.call()
}

/** Returns the stated form of an answer. */
export function stateAnswer(answer: Answer, { path, query }: Statement): StatedAnswer {
  return stateReply(answer.present({ url: new URL(`${NOWHERE}${path}?${query}`) }), NOWHERE)
}

/** Returns the newest block number of each chain for an answer; empty if the statement names the moment. */
export function getHeadNumbers(answer: Answer, { path, query }: Statement): ReadonlyMap<number, bigint> {
  const parameters = new URLSearchParams(query)
  if (Object.keys(moment).some((name) => parameters.has(name))) return new Map()
  const { asOf = [] } = answer.present({ url: new URL(`${NOWHERE}${path}?${query}`) })
  return new Map(asOf.map(({ chainId, blockNumber }) => [chainId, blockNumber]))
}

/** A statement, and all that its answer rests on. */
interface ReplayRequest {
  readonly statement: Statement
  readonly records: readonly ChainRecord[]
  readonly told: readonly Told[]
  readonly clock: Clock
}

/** Runs the same route over records. Throws what the route throws. */
export async function replayAnswer(
  { subject, chains }: ParsedReceiptSettings,
  { statement, records, told, clock }: ReplayRequest,
): Promise<ReplayedAnswer> {
  const replayers = records.flatMap((record) => {
    const chain = chains.get(record.chainId)
    return chain === undefined ? [] : [createReplayer(record, { chain, clock })]
  })
  const clients = new Map(replayers.map(({ client }) => [client.chain.id, client]))
  const noDatabase = { run: refuseToConnect, close: refuseToConnect, ensure: refuseToConnect }
  const { testimony, faults: listToldFaults } = replayTestimony(told)
  const services: FamilyServices = {
    clients,
    testimony,
    solana: undefined,
    db: noDatabase,
    history: noDatabase,
    holder: '',
    clock,
    log: silentLog,
  }
  const served = [...clients.values()].map(({ chain }) => chain)
  const routes = createSubjectRoutes(subject, { chains: served, servesSolana: false, connect: () => services })
  const call = await toRouteCall(routes, statement)
  const answer = await call.read(createContext(clock)).catch((cause: unknown) => {
    const isMissing = replayers.some((each) => each.isMissing())
    throw isMissing ? new UpstreamError('the route asks for what the record does not hold', { cause }) : cause
  })
  const stated = stateAnswer(answer, statement)
  return {
    answer: stated,
    uncovered: answer.uncovered ?? [],
    faults: [
      ...(replayers.length < chains.size || chains.size < records.length
        ? ['its chains are not those that were read']
        : []),
      ...replayers.flatMap((each) => each.faults()),
      ...listToldFaults(),
    ],
    queries: new Map(replayers.flatMap((each) => [...each.queriesByCall])),
    receipt: call.receipt,
    atTimeSec: call.atTimeSec,
  }
}

function createContext(clock: Clock): ReadContext {
  return {
    work: createWork(new AbortController().signal),
    untilMs: clock.monotonicMs() + BUDGET_MS,
    organizationId: '',
    apiKeyId: '',
    requestedAtMs: clock.now(),
    isStateOnly: true,
  }
}

/** Creates a client that answers from a record alone and refuses requests that the record does not contain. */
export function createReplayer<Row extends Chain>(
  record: ChainRecord,
  { chain, clock }: { readonly chain: Row; readonly clock: Clock },
) {
  const { block } = record
  const calls = new Map(record.calls.map((each) => [getCallKey(each), each]))
  const results = new Map(record.headers.map((each) => [getResultKey(each), each.result]))
  const queriesByCall = new Map<RecordedCall, LensQuery>()
  const usedResults = new Set<string>()
  let isMissing = false

  function call(request: EthCall): Hex {
    const question = toLensQuestion(request)
    if (question === undefined) throw new RpcRefusedError(0, 'The record has calls of lenses alone')
    const at = request.block
    const isEarlier = request.isEarlier === true && typeof at === 'bigint'
    const isRecordedBlock =
      isEarlier || at === 'latest' || (typeof at === 'object' ? at.hash === block.hash : at === block.number)
    const key = {
      lens: hashLensCode(question.runtime),
      data: question.data,
      ...listOthers(question),
      ...(isEarlier && { at: { number: at } }),
    }
    const recordedCall = calls.get(getCallKey(key))
    if (!isRecordedBlock || recordedCall === undefined) {
      isMissing = true
      // The record may have been made in the other lens mode.
      throw new RpcRefusedError(0, 'The record does not hold this call')
    }
    // With other gas the same state answers otherwise: what a contract is asked for then fails.
    if (recordedCall.gas !== RECORDED_GAS) throw new UpstreamError('The recorded call has other gas than calls have')
    const pageBlock = decodeLensPage(recordedCall.answer).block
    const own = recordedCall.at ?? block
    const hasSameParent = pageBlock.parentHash === own.parentHash || pageBlock.parentHash === zeroHash
    if (!matchesBlock(pageBlock, own) || !hasSameParent)
      throw new UpstreamError('The recorded answer is of another block')
    queriesByCall.set(recordedCall, question)
    if (question.mode === 'deployless') throw new RevertError(encodeDeploylessRevert(recordedCall.answer))
    return recordedCall.answer
  }

  function request<T>({ method, params, parse }: RpcRequest<T>): T {
    const key = getResultKey({ method, params })
    if (results.has(key)) {
      usedResults.add(key)
      return parse(results.get(key))
    }
    const isOfBlock = isLatestHeaderRequest({ method, params }) || (isHeaderMethod(method) && params[0] === block.hash)
    if (!isOfBlock) {
      isMissing = true
      throw new RpcRefusedError(0, 'The record does not hold this result')
    }
    return parse({
      hash: block.hash,
      parentHash: block.parentHash,
      number: `0x${block.number.toString(16)}`,
      timestamp: `0x${block.timestampSec.toString(16)}`,
    })
  }

  const endpoint: Endpoint = {
    index: 0,
    priority: 'caller',
    bundling: 'never',
    learned: new Map(),
    call: async (ethCall) => call(ethCall),
    request: async (rpcRequest) => request(rpcRequest),
    observeBlock() {},
  }
  const client: ChainClient<Row> = {
    chain,
    clock,
    log: silentLog,
    background: [],
    read: (attempt, { work }) => attempt(endpoint, work),
  }
  return {
    client,
    /** Lens queries answered so far, by recorded call. */
    queriesByCall: queriesByCall as ReadonlyMap<RecordedCall, LensQuery>,
    /** Lists faults of the record, as sentences: entries that no request used, or duplicates. */
    faults(): readonly string[] {
      const unused = [
        ...record.calls.filter((each) => !queriesByCall.has(each)),
        ...record.headers.filter((each) => !usedResults.has(getResultKey(each))),
      ]
      const hasDuplicates = calls.size + results.size < record.calls.length + record.headers.length
      return unused.length > 0 || hasDuplicates ? ['the record holds what the route does not ask for'] : []
    },
    /**
     * True if a request was refused because the record does not contain it; another lens mode may have succeeded since.
     */
    isMissing: () => isMissing,
  }
}
