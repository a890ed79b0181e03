import { RpcRefusedError } from '../../chain/rpc/client.ts'
import type { Refusal } from '../../chain/rpc/refusal.ts'
import type { Range } from '../range.ts'

/** The request that an endpoint refused. */
interface LogsRequest extends Range {
  /** True if the filter can be divided among several requests. */
  readonly divisible: boolean
}

/** The reaction to a refused request for logs. None of them concerns the endpoint's health. */
export type RefusalReaction =
  /** The range is longer than `blocks`, the endpoint's limit; undefined if the refusal names no limit. */
  | { readonly kind: 'range'; readonly blocks: number | undefined }
  /** The answer would be too large or too slow; `blocks` is a length that the endpoint proposes for this range. */
  | { readonly kind: 'results'; readonly blocks: number | undefined }
  /** The endpoint did not answer in time: a shorter range may be faster. */
  | { readonly kind: 'late' }
  /** The filter names too many addresses or topics. */
  | { readonly kind: 'filter' }
  /** The endpoint limits its rate. */
  | { readonly kind: 'rate'; readonly pauseMs: number | undefined }
  /** The endpoint keeps no logs that old. */
  | { readonly kind: 'pruned' }
  /** The endpoint lacks the newest of these blocks. */
  | { readonly kind: 'behind' }
  /** The endpoint serves no logs at all. */
  | { readonly kind: 'unable' }
  /** The endpoint refuses the request in words that are not known: a far shorter range may be served. */
  | { readonly kind: 'unknown' }

/** An endpoint refused a request for logs. */
export class LogsRefusedError extends RpcRefusedError {
  readonly reaction: RefusalReaction

  constructor(code: number, reaction: RefusalReaction) {
    super(
      code,
      `The endpoint refused a request for logs (${reaction.kind})`,
      reaction.kind === 'unable' ? 'kind' : 'size',
    )
    this.reaction = reaction
  }
}

const BUSY_CODES: ReadonlySet<number> = new Set([429, -32007, -32016, -32090])
/** geth's code for history that was pruned. */
const PRUNED_CODE = 4444

/** JSON-RPC's code for a failure of the node. */
const INTERNAL_CODE = -32603

const RATE =
  /rate.?limit|rate exceeded|too many requests|requests? limit|request count|(per|\/) ?(second|minute|day)\b|throttl|compute units|capacity|quota|over limit|slow down|credits|try again in|max usage/i
const PRUNED =
  /prun|archive|lowest height|unable to get receipts for block|histor(y|ical).{0,40}(not available|unavailable|not supported|missing)|before (the )?(earliest|oldest|first)|older than|missing trie node|state.{0,40}not available/i
const BEHIND =
  /beyond.{0,30}(head|latest)|(after|greater|higher|newer) than.{0,20}(head|latest|current)|(header|block).{0,60}(not found|cannot be found|unknown|not available)|must be less than or equal to the current|unknown block|invalid block range(?!\D*\d)/i
const FILTER =
  /less number of addresses|too many (addresses|topics|address|params|parameters)|(exceeds?|max(imum)?).{0,20}(addresses|topics|parameters)|(addresses|topics).{0,30}(exceed|limit)|(request(?!ed)|entity|payload|body).{0,20}too (large|long|big)/i
const RESULTS =
  /more than [\d,]+ ?k? ?(results|logs|events)|too many (results|logs|events)|max(imum)? (results|logs)|logs matched|(results|logs|events).{0,30}(exceed|limit)(?!ed to an? [\d,_]+ ?k? blocks? range)|query duration|response.{0,30}(size|exceed|too (large|big|long))|size exceed|too (much|many) data|content (is )?too large|time.?out|timed out|deadline|took too long|too (heavy|complex|expensive)|^limit exceeded|gas limit/i
const RANGE =
  /rang(e|es)\b|\brounds\b|limit the query to|(more|less|fewer) than [\d,_]+ ?k? blocks|too many blocks|blocks? (distance|span|count|limit)|number of (requested )?blocks|blocks are not supported|blocks at once|(fromblock|from block).{0,40}(toblock|to block)|must be smaller than size|max(imum)? (of )?[\d,]+ blocks/i
/** A gateway found no node that would take a request so heavy. */
const OVERLOADED = /no backend is currently healthy/i
const UNABLE =
  /specify an address|method.{0,40}(not found|not available|not supported|not allowed|disabled|does not exist)|not (supported|allowed|enabled|implemented|available)|unsupported|disabled|does not support|forbidden|unauthori[sz]ed|not authori[sz]ed|upgrade|api key|access denied/i

/** A word that precedes a limit, then the limit with its thousands: `limited to a 10,000 range`, `up to a 2K block`; no time. */
const LIMIT =
  /(?:max(?:imum)?|limit(?:ed)?|over|up to|exceeds?|at most|allowed|smaller than|greater than|larger than|less than|reduce it to|within|only|>)[^\d\n]{0,40}?((?:0 ?- ?)?\d[\d,_]*)(?![\d,_])( ?k\b)?(?! ?(?:days?|hours?|minutes?|seconds?)\b)/gi
/** `[0x1, 0x7d0]`, or `range 20-30`. */
const PROPOSED = /\[ ?(0x[\da-f]{1,14}) ?, ?(0x[\da-f]{1,14}) ?\]|range:? (\d{1,15}) ?- ?(\d{1,15})\b/i

/**
 * Classifies an endpoint's refusal; undefined for a failure of the endpoint itself, after which the same request may
 * succeed. Words differ by provider, and codes are ambiguous: one code may mean a range too long, an answer too long or
 * a rate limit.
 */
export function classifyRefusal(
  { status, code, words: rawWords, retryAfterMs }: Refusal,
  request: LogsRequest,
): RefusalReaction | undefined {
  // Remove method names: `eth_getLogs` must not match a pattern about logs. Some providers write words as identifiers.
  const words = rawWords.replace(/\b(eth_\w+|getLogs)/g, 'it').replace(/(?<=[a-z])[._](?=[a-z])/gi, ' ')
  const isAboutSize = RESULTS.test(words) || RANGE.test(words)
  if ((status === 429 || BUSY_CODES.has(code)) && !hasStatedLimit(words, request)) return rateReaction(retryAfterMs)
  if (RATE.test(words) && !isAboutSize) return rateReaction(retryAfterMs)
  if (code === PRUNED_CODE || PRUNED.test(words)) return { kind: 'pruned' }
  if (BEHIND.test(words)) return { kind: 'behind' }
  const proposed = findProposedBlocks(words, request)
  if (RESULTS.test(words)) return { kind: 'results', blocks: proposed }
  const isFilter = FILTER.test(words)
  if (!isFilter && RANGE.test(words)) return { kind: 'range', blocks: findStatedBlocks(words, request) ?? proposed }
  if (isFilter || status === 413) return request.divisible ? { kind: 'filter' } : { kind: 'results', blocks: proposed }
  if (RATE.test(words)) return rateReaction(retryAfterMs)
  if (OVERLOADED.test(words)) return { kind: 'late' }
  if (code === -32601 || [401, 402, 403, 404, 405].includes(status) || UNABLE.test(words)) return { kind: 'unable' }
  return status >= 500 || code === INTERNAL_CODE ? undefined : { kind: 'unknown' }
}

function rateReaction(pauseMs: number | undefined): RefusalReaction {
  return { kind: 'rate', pauseMs }
}

/** True if a refusal with the code of a rate limit names a limit of the range or of its results. */
function hasStatedLimit(words: string, request: LogsRequest): boolean {
  return RESULTS.test(words) || (RANGE.test(words) && findStatedBlocks(words, request) !== undefined)
}

/** The range limit stated in the words: a number after a word for a limit, smaller than the requested range. */
function findStatedBlocks(words: string, { fromBlock, toBlock }: LogsRequest): number | undefined {
  const blocks = toBlock - fromBlock + 1
  for (const [, digits = '', thousands] of words.matchAll(LIMIT)) {
    const stated = Number(digits.replace(/^0 ?- ?/, '').replace(/[,_]/g, '')) * (thousands === undefined ? 1 : 1_000)
    if (stated >= 1 && stated < blocks) return stated
  }
  return undefined
}

/** Length of the range that the words propose instead, if it lies within the requested range. */
function findProposedBlocks(words: string, { fromBlock, toBlock }: LogsRequest): number | undefined {
  const [, hexFrom, hexTo, from = hexFrom, to = hexTo] = words.match(PROPOSED) ?? []
  if (from === undefined || to === undefined) return undefined
  const [first, last] = [Number(from), Number(to)]
  return first === fromBlock && last >= first && last < toBlock ? last - first + 1 : undefined
}
