import { type Hex, keccak256 } from 'viem'
import { mapCooperatively } from '../../lib/async/cooperative.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Block } from '../block.ts'
import { decodeLensPage } from '../call/cursor.ts'
import { encodeDeploylessRevert } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { type CallBlock, type ChainClient, type Endpoint, type EthCall, RevertError } from '../rpc/client.ts'
import { hashLensCode, type LensQuery, readLensAnswer, toLensQuestion } from './record.ts'

/** A lens call that an answer was computed from, identified by hashes. */
export interface Citation {
  readonly block: Block
  /** Hash of the lens' runtime code. */
  readonly lens: Hex
  /** Hash of the call data. */
  readonly call: Hex
  /** Hash of the raw answer. */
  readonly answer: Hex
}

/** Formats a citation for the response. */
export function presentCitation({ block: { chainId, number, hash, parentHash }, lens, call, answer }: Citation) {
  return {
    chain_id: chainId,
    block_number: Number(number),
    ...(hash === undefined ? {} : { block_hash: hash }),
    parent_hash: parentHash,
    lens,
    call,
    answer,
  }
}

interface NotedCall {
  readonly question: LensQuery
  readonly block: CallBlock
  readonly answer: Hex
}

/**
 * Creates a client for one answer that forwards requests to `client` and notes the lens calls among them. Notes of a
 * failed attempt are discarded.
 */
export function createCitingClient<Row extends Chain>(client: ChainClient<Row>) {
  const notedCalls: NotedCall[] = []

  function wrapEndpoint(endpoint: Endpoint, draft: NotedCall[]): Endpoint {
    return {
      ...endpoint,
      async call(request: EthCall, work: Work): Promise<Hex> {
        const question = toLensQuestion(request)
        if (question === undefined) return await endpoint.call(request, work)
        const { mode } = question
        const answer = await readLensAnswer(mode, () => endpoint.call(request, work))
        draft.push({ question, block: request.block, answer })
        if (mode === 'deployless') throw new RevertError(encodeDeploylessRevert(answer))
        return answer
      },
      onBundledAnswer(request, answer) {
        const question = toLensQuestion(request)
        if (question !== undefined) draft.push({ question, block: request.block, answer })
      },
    }
  }

  const citingClient: ChainClient<Row> = {
    ...client,
    read: (attempt, options) =>
      client.read(async (endpoint, work) => {
        const draft: NotedCall[] = []
        const value = await attempt(wrapEndpoint(endpoint, draft), work)
        notedCalls.push(...draft)
        return value
      }, options),
  }
  return {
    client: citingClient,
    /** Returns the citations. Hashes long texts, so each call is hashed in its own turn of the event loop. */
    listCitations: (): Promise<readonly Citation[]> => mapCooperatively(notedCalls, 1, toCitation),
  }
}

function toCitation({ question, block: callBlock, answer }: NotedCall): Citation {
  return {
    block: { ...decodeLensPage(answer).block, ...(typeof callBlock === 'object' && { hash: callBlock.hash }) },
    lens: hashLensCode(question.runtime),
    call: keccak256(question.data),
    answer: keccak256(answer),
  }
}
