import type { ChainRecord, LensQuery, RecordedCall } from '../chain/receipt/record.ts'
import { type FamilyServices, refuseToConnect } from '../family/contract.ts'
import { moment } from '../http/request/input.ts'
import { readParameters } from '../http/request/parameters.ts'
import type { Statement } from '../http/route/receipt.ts'
import type { Answer, ReadContext, Route, RouteCall } from '../http/route/route.ts'
import { createRouteTable } from '../http/route/route_table.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError, UpstreamError } from '../lib/error.ts'
import { silentLog } from '../lib/log.ts'
import { type StatedAnswer, stateReply } from './payload.ts'
import { createReplayer } from './replayer.ts'
import type { ParsedReceiptSettings } from './settings.ts'

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

/** Runs the same route over records. Throws what the route throws. */
export async function replayAnswer(
  { family, chains }: ParsedReceiptSettings,
  { statement, records, clock }: { statement: Statement; records: readonly ChainRecord[]; clock: Clock },
): Promise<ReplayedAnswer> {
  const replayers = records.flatMap((record) => {
    const chain = chains.get(record.chainId)
    return chain === undefined ? [] : [createReplayer(record, { chain, clock })]
  })
  const clients = new Map(replayers.map(({ client }) => [client.chain.id, client]))
  const noDatabase = { run: refuseToConnect, close: refuseToConnect, ensure: refuseToConnect }
  const services: FamilyServices = {
    clients,
    solana: undefined,
    db: noDatabase,
    history: noDatabase,
    holder: '',
    clock,
    log: silentLog,
  }
  const routes = family.routes({ chainIds: [...clients.keys()], servesSolana: false, connect: () => services })
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
    ],
    queries: new Map(replayers.flatMap((each) => [...each.queriesByCall])),
    receipt: call.receipt,
    atTimeSec: call.atTimeSec,
  }
}

function createContext(clock: Clock): ReadContext {
  return {
    signal: new AbortController().signal,
    untilMs: clock.monotonicMs() + BUDGET_MS,
    organizationId: '',
    apiKeyId: '',
    requestedAtMs: clock.now(),
    isStateOnly: true,
  }
}
