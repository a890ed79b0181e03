import { type Hex, keccak256 } from 'viem'
import { mapCooperatively } from '../../lib/async/cooperative.ts'
import type { Block } from '../block.ts'
import { decodeLensPage } from '../call/cursor.ts'
import { encodeDeploylessRevert } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { type CallBlock, type ChainClient, type Endpoint, type EthCall, RevertError } from '../rpc/client.ts'
import { hashLensCode, type LensQuery, readLensAnswer, toLensQuestion } from './record.ts'

/** A question to a lens that an answer was made from, by hashes. */
export interface Citation {
  readonly block: Block
  /** Of its runtime code. */
  readonly lens: Hex
  /** Of the call data. */
  readonly call: Hex
  /** Of the raw answer. */
  readonly answer: Hex
}

/** A citation as callers see it. */
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
  readonly at: CallBlock
  readonly answer: Hex
}

/**
 * Makes a client for one answer over the client of a chain, which asks what it is asked and notes which questions those
 * are. A failed attempt leaves no trace.
 */
export function createCitingClient<Row extends Chain>(client: ChainClient<Row>) {
  const kept: NotedCall[] = []

  function noting(endpoint: Endpoint, draft: NotedCall[]): Endpoint {
    return {
      ...endpoint,
      async call(request: EthCall, signal: AbortSignal): Promise<Hex> {
        const question = toLensQuestion(request)
        if (question === undefined) return await endpoint.call(request, signal)
        const { way } = question
        const answer = await readLensAnswer(way, () => endpoint.call(request, signal))
        draft.push({ question, at: request.block, answer })
        if (way === 'deployless') throw new RevertError(encodeDeploylessRevert(answer))
        return answer
      },
      heard(request, answer) {
        const question = toLensQuestion(request)
        if (question !== undefined) draft.push({ question, at: request.block, answer })
      },
    }
  }

  const citing: ChainClient<Row> = {
    ...client,
    read: (attempt, options) =>
      client.read(async (endpoint, signal) => {
        const draft: NotedCall[] = []
        const value = await attempt(noting(endpoint, draft), signal)
        kept.push(...draft)
        return value
      }, options),
  }
  return {
    client: citing,
    /** Hashes long texts, each question in a turn of its own. */
    cited: (): Promise<readonly Citation[]> => mapCooperatively(kept, 1, toCitation),
  }
}

function toCitation({ question, at, answer }: NotedCall): Citation {
  return {
    block: { ...decodeLensPage(answer).block, ...(typeof at === 'object' && { hash: at.hash }) },
    lens: hashLensCode(question.runtime),
    call: keccak256(question.data),
    answer: keccak256(answer),
  }
}
