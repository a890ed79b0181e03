import { type Hex, zeroHash } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { silentLog } from '../../lib/log.ts'
import { matchesBlock } from '../block.ts'
import { decodeLensPage } from '../call/cursor.ts'
import { encodeDeploylessRevert } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import {
  type ChainClient,
  type Endpoint,
  type EthCall,
  RevertError,
  RpcRefusedError,
  type RpcRequest,
} from '../rpc/client.ts'
import {
  type ChainRecord,
  getCallKey,
  getResultKey,
  hashLensCode,
  isHeaderMethod,
  isLatestHeaderRequest,
  type LensQuery,
  type RecordedCall,
  toLensQuestion,
} from './record.ts'

/** Makes a client of a chain that has nothing but a record. What is not in it is refused. */
export function createReplayer<Row extends Chain>(chain: Row, record: ChainRecord) {
  const { block } = record
  const calls = new Map(record.calls.map((each) => [getCallKey(each), each]))
  const results = new Map(record.headers.map((each) => [getResultKey(each), each.result]))
  const asked = new Map<RecordedCall, LensQuery>()
  const used = new Set<string>()
  let isMissing = false

  function call(request: EthCall): Hex {
    const question = toLensQuestion(request)
    if (question === undefined) throw new RpcRefusedError(0, 'The record has calls of lenses alone')
    const at = request.block
    const isThere = at === 'latest' || (typeof at === 'object' ? at.hash === block.hash : at === block.number)
    const found = calls.get(getCallKey({ lens: hashLensCode(question.runtime), data: question.data }))
    if (!isThere || found === undefined) {
      isMissing = true
      // Another way of reading may have been recorded.
      throw new RpcRefusedError(0, 'The record does not hold this call')
    }
    const page = decodeLensPage(found.answer).block
    const isOfParent = page.parentHash === block.parentHash || page.parentHash === zeroHash
    if (!matchesBlock(page, block) || !isOfParent) throw new UpstreamError('The recorded answer is of another block')
    asked.set(found, question)
    if (question.way === 'deployless') throw new RevertError(encodeDeploylessRevert(found.answer))
    return found.answer
  }

  function request<T>({ method, params, parse }: RpcRequest<T>): T {
    const name = getResultKey({ method, params })
    if (results.has(name)) {
      used.add(name)
      return parse(results.get(name))
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
    together: 'never',
    learned: new Map(),
    call: async (asked) => call(asked),
    request: async (asked) => request(asked),
    observeBlock() {},
  }
  const client: ChainClient<Row> = {
    chain,
    log: silentLog,
    background: [],
    read: (attempt, { signal }) => attempt(endpoint, signal),
  }
  return {
    client,
    /** Questions to lenses that were answered so far, with the code that was asked. */
    asked: asked as ReadonlyMap<RecordedCall, LensQuery>,
    /** What the record holds besides what was asked, as sentences. */
    faults(): readonly string[] {
      const unused = [
        ...record.calls.filter((each) => !asked.has(each)),
        ...record.headers.filter((each) => !used.has(getResultKey(each))),
      ]
      const twice = calls.size + results.size < record.calls.length + record.headers.length
      return unused.length > 0 || twice ? ['the record holds what the route does not ask for'] : []
    },
    /** True if something was asked for that the record does not hold: another way of reading may have found its own. */
    isMissing: () => isMissing,
  }
}
