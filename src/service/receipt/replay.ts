import type { ChainRecord, LensQuery, RecordedCall } from '../../chain/receipt/record.ts'
import { createReplayer } from '../../chain/receipt/replayer.ts'
import type { FamilyServices } from '../../family/family.ts'
import { moment } from '../../http/request/input.ts'
import { readParameters } from '../../http/request/parameters.ts'
import type { Statement } from '../../http/route/receipt.ts'
import type { Answer, ReadContext, Route, RouteCall } from '../../http/route/route.ts'
import { createRouteTable } from '../../http/route/route_table.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, UpstreamError } from '../../lib/error.ts'
import { silentLog } from '../../lib/log.ts'
import { refuseToConnect } from '../routes.ts'
import { type StatedAnswer, stateReply } from './payload.ts'
import type { ParsedReceiptSettings } from './settings.ts'

/** What came of a statement when it was answered from records alone. */
export interface ReplayedAnswer {
  readonly answer: StatedAnswer
  /** Paths of its figures that records do not cover: what they name in `answer` says nothing. */
  readonly uncovered: readonly string[]
  /** Why these are not the records of the answer, as sentences. */
  readonly faults: readonly string[]
  /** Calls of the records that were asked for, with the code that was asked. */
  readonly asked: ReadonlyMap<RecordedCall, LensQuery>
}

/** No answer states where it was asked for. */
const NOWHERE = 'http://walletscope.invalid'
const BUDGET_MS = 60_000

/** The call that a statement is of these routes. Throws `CodedError` as the route does, or NOT_FOUND for no route. */
export async function toRouteCall(
  routes: readonly Route[],
  { method, path, query, body }: Statement,
): Promise<RouteCall> {
  const found = createRouteTable(routes, new Map()).find(method, path)
  if (found.kind !== 'endpoint') throw new CodedError('NOT_FOUND', `There is no route ${method} ${path}`)
  const { endpoint, params } = found
  const { route } = endpoint
  const accepted = await route.accept({
    parameters: () => readParameters(route.input, { params, query }),
    body: async () => ({ value: () => body }),
  })
  return accepted.call()
}

/** What an answer of a statement states. */
export function stateAnswer(answer: Answer, { path, query }: Statement): StatedAnswer {
  return stateReply(answer.present({ url: new URL(`${NOWHERE}${path}?${query}`) }), NOWHERE)
}

/** Heights of the blocks that were the newest of each chain for an answer; none if its statement names the moment. */
export function getHeadNumbers(answer: Answer, { path, query }: Statement): ReadonlyMap<number, bigint> {
  const asked = new URLSearchParams(query)
  if (Object.keys(moment).some((name) => asked.has(name))) return new Map()
  const { asOf = [] } = answer.present({ url: new URL(`${NOWHERE}${path}?${query}`) })
  return new Map(asOf.map(({ chainId, blockNumber }) => [chainId, blockNumber]))
}

/** Runs the very route over records. Throws what the route throws. */
export async function replayAnswer(
  { family, chains }: ParsedReceiptSettings,
  { statement, records, clock }: { statement: Statement; records: readonly ChainRecord[]; clock: Clock },
): Promise<ReplayedAnswer> {
  const replayers = records.flatMap((record) => {
    const chain = chains.get(record.chainId)
    return chain === undefined ? [] : [createReplayer(chain, record)]
  })
  const clients = new Map(replayers.map(({ client }) => [client.chain.id, client]))
  const nothing = { run: refuseToConnect, close: refuseToConnect, ensure: refuseToConnect }
  const services: FamilyServices = {
    clients,
    solana: undefined,
    db: nothing,
    history: nothing,
    holder: '',
    clock,
    log: silentLog,
  }
  const routes = family.routes({ chainIds: [...clients.keys()], servesSolana: false, connect: () => services })
  const call = await toRouteCall(routes, statement)
  const answer = await call.read(contextOf(clock)).catch((cause: unknown) => {
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
    asked: new Map(replayers.flatMap((each) => [...each.asked])),
  }
}

function contextOf(clock: Clock): ReadContext {
  return {
    signal: new AbortController().signal,
    untilMs: clock.monotonicMs() + BUDGET_MS,
    organizationId: '',
    apiKeyId: '',
    requestedAtMs: clock.now(),
    stateAlone: true,
  }
}
