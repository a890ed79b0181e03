import { RpcRefusedError } from '../../chain/rpc/client.ts'
import type { Refusal } from '../../chain/rpc/refusal.ts'
import type { Range } from '../range.ts'

/** What was asked of an endpoint. */
interface LogsRequest extends Range {
  /** True if the filter can be divided among several requests. */
  readonly divisible: boolean
}

/** What to do about a refused request for logs. None of it says anything about the endpoint's health. */
export type RefusalReaction =
  /** It takes no range longer than `blocks`; without a number it takes none as long as this one. */
  | { readonly kind: 'range'; readonly blocks: number | undefined }
  /** The answer would hold too much or take too long; `blocks` is a length that it proposes for this range. */
  | { readonly kind: 'results'; readonly blocks: number | undefined }
  /** It did not answer in time: a shorter range may take less, if it answers at all. */
  | { readonly kind: 'late' }
  /** The filter names too many addresses or topics. */
  | { readonly kind: 'filter' }
  /** It limits its rate. */
  | { readonly kind: 'rate'; readonly pauseMs: number | undefined }
  /** It keeps no logs that old. */
  | { readonly kind: 'pruned' }
  /** It does not have the newest of these blocks yet. */
  | { readonly kind: 'behind' }
  /** It gives no logs at all. */
  | { readonly kind: 'unable' }

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

const RATE =
  /rate.?limit|rate exceeded|too many requests|requests? limit|request count|(per|\/) ?(second|minute|day)\b|throttl|compute units|capacity|quota|over limit|slow down|credits|try again in|max usage/i
const PRUNED =
  /prun|archive|histor(y|ical).{0,40}(not available|unavailable|not supported|missing)|before (the )?(earliest|oldest|first)|older than|missing trie node|state.{0,40}not available/i
const BEHIND =
  /beyond.{0,30}(head|latest)|(after|greater|higher|newer) than.{0,20}(head|latest|current)|(header|block).{0,60}(not found|cannot be found|unknown|not available)|unknown block|invalid block range/i
const FILTER =
  /too many (addresses|topics|address|params|parameters)|(exceeds?|max(imum)?).{0,20}(addresses|topics|parameters)|(addresses|topics).{0,30}(exceed|limit)|(request|entity|payload|body).{0,20}too (large|long|big)/i
const RESULTS =
  /more than [\d,]+ ?k? ?(results|logs|events)|too many (results|logs|events)|max(imum)? (results|logs)|logs matched|(results|logs|events).{0,30}(exceed|limit)|response.{0,30}(size|exceed|too (large|big|long))|size exceed|too (much|many) data|content (is )?too large|time.?out|timed out|deadline|took too long|too (heavy|complex|expensive)|^limit exceeded|gas limit/i
const RANGE =
  /rang(e|es)\b|too many blocks|blocks? (distance|span|count|limit)|number of (requested )?blocks|blocks are not supported|blocks at once|(fromblock|from block).{0,40}(toblock|to block)|must be smaller than size|max(imum)? (of )?[\d,]+ blocks/i
const UNABLE =
  /method.{0,40}(not found|not available|not supported|not allowed|disabled|does not exist)|not (supported|allowed|enabled|implemented|available)|unsupported|disabled|does not support|forbidden|unauthori[sz]ed|not authori[sz]ed|upgrade|api key|access denied/i

/** A word that a limit follows, then the limit with its thousands: `limited to a 10,000 range`, `up to a 2K block`. */
const LIMIT =
  /(?:max(?:imum)?|limit(?:ed)?|over|up to|exceeds?|at most|allowed|smaller than|greater than|larger than|within|only)[^\d\n]{0,40}?((?:0 ?- ?)?\d[\d,_]*)( ?k\b)?/gi
/** `[0x1, 0x7d0]`, or `range 20-30`. */
const PROPOSED = /\[ ?(0x[\da-f]{1,14}) ?, ?(0x[\da-f]{1,14}) ?\]|range:? (\d{1,15}) ?- ?(\d{1,15})\b/i

/**
 * What an endpoint's refusal asks for; undefined if it is not known to be about the request, so that it is a failure
 * like any other. The words differ by provider, and the codes say little: the same one stands for a range too long, an
 * answer too long and a rate.
 */
export function classifyRefusal(
  { status, code, words: said, retryAfterMs }: Refusal,
  asked: LogsRequest,
): RefusalReaction | undefined {
  // The method's own name must not read as a word about logs.
  const words = said.replace(/\beth_\w+/g, 'it')
  const isAboutSize = RESULTS.test(words) || RANGE.test(words)
  if ((status === 429 || BUSY_CODES.has(code)) && !hasLimitOf(words, asked)) return rate(retryAfterMs)
  if (RATE.test(words) && !isAboutSize) return rate(retryAfterMs)
  if (code === PRUNED_CODE || PRUNED.test(words)) return { kind: 'pruned' }
  if (BEHIND.test(words)) return { kind: 'behind' }
  const proposed = proposedBlocks(words, asked)
  if (RESULTS.test(words)) return { kind: 'results', blocks: proposed }
  const isFilter = FILTER.test(words)
  if (!isFilter && RANGE.test(words)) return { kind: 'range', blocks: statedBlocks(words, asked) ?? proposed }
  if (isFilter || status === 413) return asked.divisible ? { kind: 'filter' } : { kind: 'results', blocks: proposed }
  if (RATE.test(words)) return rate(retryAfterMs)
  if (code === -32601 || [401, 402, 403, 404, 405].includes(status) || UNABLE.test(words)) return { kind: 'unable' }
  return undefined
}

function rate(pauseMs: number | undefined): RefusalReaction {
  return { kind: 'rate', pauseMs }
}

/** True if an answer with a code for a rate speaks of the range or of its results all the same. */
function hasLimitOf(words: string, asked: LogsRequest): boolean {
  return RESULTS.test(words) || (RANGE.test(words) && statedBlocks(words, asked) !== undefined)
}

/** The longest range that the words allow: a number that follows a word of limits, smaller than what was asked. */
function statedBlocks(words: string, { fromBlock, toBlock }: LogsRequest): number | undefined {
  const blocks = toBlock - fromBlock + 1
  for (const [, digits = '', thousands] of words.matchAll(LIMIT)) {
    const stated = Number(digits.replace(/^0 ?- ?/, '').replace(/[,_]/g, '')) * (thousands === undefined ? 1 : 1_000)
    if (stated >= 1 && stated < blocks) return stated
  }
  return undefined
}

/** Length of the range that the words propose instead, if it lies in what was asked. */
function proposedBlocks(words: string, { fromBlock, toBlock }: LogsRequest): number | undefined {
  const [, hexFrom, hexTo, from = hexFrom, to = hexTo] = words.match(PROPOSED) ?? []
  if (from === undefined || to === undefined) return undefined
  const [first, last] = [Number(from), Number(to)]
  return first === fromBlock && last >= first && last < toBlock ? last - first + 1 : undefined
}
