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
import type { Clock } from '../lib/clock.ts'
import { UpstreamError } from '../lib/error.ts'
import { silentLog } from '../lib/log.ts'

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
    const key = { lens: hashLensCode(question.runtime), data: question.data, ...(isEarlier && { at: { number: at } }) }
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
    read: (attempt, { signal }) => attempt(endpoint, signal),
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
