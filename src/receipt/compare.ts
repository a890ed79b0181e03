import type { Hex } from 'viem'
import { isSameBlock, matchesBlock, type PinnedBlock } from '../chain/block.ts'
import { callByOverride } from '../chain/call/bundle/bundle.ts'
import { decodeLensPage } from '../chain/call/cursor.ts'
import { callDeployless } from '../chain/call/deployless.ts'
import { type BlockId, parseHeader, readHeader } from '../chain/evm/read_block.ts'
import type { LensQuery, RecordedCall, RecordedResult } from '../chain/receipt/record.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { CheckResult } from './proof/check.ts'

const BUDGET_MS = 20_000

/** Repeats a recorded call and compares the bytes. Never throws: no answer gives `unknown`. */
export async function compareCall(
  client: ChainClient,
  { call, question, block }: { readonly call: RecordedCall; readonly question: LensQuery; readonly block: PinnedBlock },
  signal: AbortSignal,
): Promise<CheckResult> {
  const { runtime, data, mode } = question
  const ask = mode === 'override' ? callByOverride : callDeployless
  const lensCall = { runtime, data, block: { hash: block.hash }, gas: call.gas }
  try {
    const answer = await client.read((endpoint, within) => ask(endpoint, lensCall, within), {
      signal,
      budgetMs: BUDGET_MS,
      past: block,
    })
    return compareAnswers(answer, { call, block })
  } catch {
    return { is: 'unknown', because: 'the endpoint does not answer the call at that block' }
  }
}

function compareAnswers(
  answer: Hex,
  { call, block }: { readonly call: RecordedCall; readonly block: PinnedBlock },
): CheckResult {
  if (answer.toLowerCase() === call.answer) return { is: 'true', because: 'the endpoint answers the same bytes' }
  const [theirs, ours] = [tryDecodePage(answer), tryDecodePage(call.answer)]
  if (theirs !== undefined && ours !== undefined) {
    if (!matchesBlock(theirs.block, block)) return { is: 'unknown', because: 'the endpoint answers from another block' }
    if (theirs.taken < ours.taken) return { is: 'unknown', because: 'the endpoint grants less gas' }
  }
  return { is: 'false', because: 'the endpoint answers other bytes' }
}

function tryDecodePage(answer: Hex) {
  try {
    return decodeLensPage(answer)
  } catch {
    return undefined
  }
}

/** Compares a recorded header with the endpoint's header of that height, whichever way it was named. Never throws. */
export async function compareHeader(
  client: ChainClient,
  { method, result }: RecordedResult,
  signal: AbortSignal,
): Promise<CheckResult> {
  try {
    const header = parseHeader(result, 'latest')
    const theirs = header && (await readAt(client, header.number, signal))
    if (header === undefined || theirs === undefined) {
      return { is: 'unknown', because: 'the endpoint does not know a block that the answer rests on' }
    }
    const isSame = header.hash === theirs.hash && isSameBlock({ ...header, chainId: theirs.chainId }, theirs)
    return isSame
      ? { is: 'true', because: 'the endpoint has the same headers' }
      : { is: 'false', because: `the endpoint has another block at ${header.number}` }
  } catch {
    return { is: 'unknown', because: `the endpoint does not answer ${method}` }
  }
}

/**
 * Checks that a block is the last one at or before a time (seconds since the epoch): the block after it is later.
 * Never throws.
 */
export async function compareTime(
  client: ChainClient,
  { block, atSec }: { readonly block: PinnedBlock; readonly atSec: number },
  signal: AbortSignal,
): Promise<CheckResult> {
  if (Number(block.timestampSec) > atSec)
    return { is: 'false', because: 'it is later than the time that was asked for' }
  try {
    const next = await readAt(client, block.number + 1n, signal)
    if (next === undefined) {
      return {
        is: 'unknown',
        because: 'the endpoint has no later block, which would show that the time means this one',
      }
    }
    return Number(next.timestampSec) > atSec
      ? { is: 'true', because: 'it is the last block at or before the time that was asked for' }
      : { is: 'false', because: `block ${next.number} is at or before the time that was asked for too` }
  } catch {
    return { is: 'unknown', because: 'the endpoint does not answer about the block after it' }
  }
}

/** Compares a block with the endpoint's block of that hash and of that height. Never throws. */
export async function compareBlock(client: ChainClient, block: PinnedBlock, signal: AbortSignal): Promise<CheckResult> {
  const { number, hash } = block
  try {
    const header = await readAt(client, { hash }, signal)
    if (header === undefined) return { is: 'unknown', because: 'the endpoint does not know the block' }
    if (!matchesBlock(header, block) || header.parentHash !== block.parentHash) {
      return { is: 'false', because: 'the endpoint knows another block by that hash' }
    }
    if ((await readAt(client, number, signal))?.hash !== hash)
      return { is: 'false', because: `another block has replaced it at ${number}` }
    const finalHeader = await readAt(client, 'finalized', signal).catch(() => undefined)
    const isFinal = finalHeader !== undefined && finalHeader.number >= number
    return { is: 'true', because: isFinal ? 'it is on the chain, final' : 'it is on the chain, not known to be final' }
  } catch {
    return { is: 'unknown', because: 'the endpoint does not answer about the block' }
  }
}

function readAt(client: ChainClient, at: BlockId, signal: AbortSignal): Promise<PinnedBlock | undefined> {
  return client.read((endpoint, within) => readHeader(endpoint, { chainId: client.chain.id, at }, within), {
    signal,
    budgetMs: BUDGET_MS,
    past: 'header',
  })
}
