import { type Hex, keccak256 } from 'viem'
import { mapCooperatively } from '../../lib/async/cooperative.ts'
import type { Block } from '../block.ts'
import { openLensPage } from '../call/cursor.ts'
import { sealDeployless } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { type BlockAt, type ChainClient, type Endpoint, type EthCall, RevertError } from '../rpc/client.ts'
import { answerOf, type LensQuestion, lensHashOf, questionOf } from './record.ts'

/** A question to a lens that an answer was made from, by hashes. */
export interface Cited {
  readonly block: Block
  /** Of its runtime code. */
  readonly lens: Hex
  /** Of the call data. */
  readonly call: Hex
  /** Of the raw answer. */
  readonly answer: Hex
}

/** A citation as callers see it. */
export function presentCited({ block: { chainId, number, hash, parentHash }, lens, call, answer }: Cited) {
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

interface Noted {
  readonly question: LensQuestion
  readonly at: BlockAt
  readonly answer: Hex
}

/**
 * Makes a client for one answer over the client of a chain, which asks what it is asked and notes which questions those
 * are. A failed attempt leaves no trace.
 */
export function createCitingClient<Row extends Chain>(client: ChainClient<Row>) {
  const kept: Noted[] = []

  function noting(endpoint: Endpoint, draft: Noted[]): Endpoint {
    return {
      ...endpoint,
      async call(request: EthCall, signal: AbortSignal): Promise<Hex> {
        const question = questionOf(request)
        if (question === undefined) return await endpoint.call(request, signal)
        const { way } = question
        const answer = await answerOf(way, () => endpoint.call(request, signal))
        draft.push({ question, at: request.block, answer })
        if (way === 'deployless') throw new RevertError(sealDeployless(answer))
        return answer
      },
      heard(request, answer) {
        const question = questionOf(request)
        if (question !== undefined) draft.push({ question, at: request.block, answer })
      },
    }
  }

  const citing: ChainClient<Row> = {
    ...client,
    read: (attempt, options) =>
      client.read(async (endpoint, signal) => {
        const draft: Noted[] = []
        const value = await attempt(noting(endpoint, draft), signal)
        kept.push(...draft)
        return value
      }, options),
  }
  return {
    client: citing,
    /** Hashes long texts, each question in a turn of its own. */
    cited: (): Promise<readonly Cited[]> => mapCooperatively(kept, 1, citedOf),
  }
}

function citedOf({ question, at, answer }: Noted): Cited {
  return {
    block: { ...openLensPage(answer).block, ...(typeof at === 'object' && { hash: at.hash }) },
    lens: lensHashOf(question.runtime),
    call: keccak256(question.data),
    answer: keccak256(answer),
  }
}
