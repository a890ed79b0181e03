import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../../../../../src/chain/block.ts'
import { decodeAddress, decodeWord, encodeCall } from '../../../../../src/chain/call/words.ts'
import { readLatestBlock } from '../../../../../src/chain/evm/read_block.ts'
import type { BrokenPosition, LensContracts, RawRead } from '../../../../../src/family/uniswap_v3/read/abi.ts'
import { UpstreamError } from '../../../../../src/lib/error.ts'
import { type Ask, hasAnswer, multicall } from '../../../staged/multicall.ts'
import { type Entry, readEntries, type StagedSource } from './entries.ts'
import { SELECTOR, smallNumber } from './words.ts'

/** Reads a wallet's whole list in stages of many calls at the latest block, equal to the answer of the lens. */
export async function readWalletStaged(source: StagedSource, wallet: Address, signal: AbortSignal): Promise<RawRead> {
  const { subject } = source
  const { block, pin, ask } = await pinLatest(source, signal)
  const balances = await ask(
    subject.deployments.map(({ manager }) => ({ to: manager, data: encodeCall(SELECTOR.balanceOf, wallet) })),
  )
  const managers = balances.map((answer) => ({ balance: hasAnswer(answer, 1) ? smallNumber(answer.data) : undefined }))
  const places = managers.flatMap(({ balance = 0 }, manager) =>
    Array.from({ length: balance }, (_, index) => ({ manager, index: BigInt(index) })),
  )
  const ids = await ask(
    places.map(({ manager, index }) => ({
      to: getManager(subject, manager),
      data: encodeCall(SELECTOR.tokenOfOwnerByIndex, wallet, index),
    })),
  )
  const known = places.map(({ manager }, at) => {
    const answer = ids[at]
    return { manager, tokenId: answer !== undefined && hasAnswer(answer, 1) ? decodeWord(answer.data, 0) : undefined }
  })
  const positions = await ask(
    known.map(({ manager, tokenId }) => ({
      to: getManager(subject, manager),
      data: encodeCall(SELECTOR.positions, tokenId ?? 0n),
    })),
  )
  const broken = new Map<number, BrokenPosition>()
  const entries = known.map(({ manager, tokenId }, at): Entry => {
    const answer = positions[at]
    const position = tokenId !== undefined && answer !== undefined && hasAnswer(answer, 12) ? answer.data : undefined
    if (tokenId === undefined) broken.set(at, { manager, tokenId: 0n, part: 'id' })
    else if (position === undefined) broken.set(at, { manager, tokenId, part: 'position' })
    return { manager, tokenId: tokenId ?? 0n, owner: wallet, position }
  })
  return {
    block,
    managers,
    taken: places.length,
    ...(await readEntries({ source, ask, entries, broken, block: pin }, signal)),
  }
}

/** Reads the position of one id on every manager that knows it, equal to the answer of the lens. */
export async function readOneStaged(source: StagedSource, tokenId: bigint, signal: AbortSignal): Promise<RawRead> {
  const { subject } = source
  const { block, pin, ask } = await pinLatest(source, signal)
  const answers = await ask(
    subject.deployments.flatMap(({ manager }) => [
      { to: manager, data: encodeCall(SELECTOR.positions, tokenId) },
      { to: manager, data: encodeCall(SELECTOR.ownerOf, tokenId) },
    ]),
  )
  // A call to an address without code succeeds and answers nothing; a manager without the id reverts.
  const managers = subject.deployments.map((_, index) => {
    const answer = answers[index * 2]
    return { balance: answer?.ok === true && answer.data === '0x' ? undefined : 0 }
  })
  const broken = new Map<number, BrokenPosition>()
  const entries: Entry[] = []
  for (const manager of subject.deployments.keys()) {
    const [position, owner] = answers.slice(manager * 2, manager * 2 + 2)
    if (position === undefined || !hasAnswer(position, 12)) continue
    const isOwned = owner !== undefined && hasAnswer(owner, 1)
    if (!isOwned) broken.set(entries.length, { manager, tokenId, part: 'owner' })
    const ownerAddress = isOwned ? decodeAddress(owner.data, 0) : undefined
    entries.push({ manager, tokenId, owner: ownerAddress, position: position.data })
  }
  const read = await readEntries({ source, ask, entries, broken, block: pin }, signal)
  return { block, managers, taken: entries.length, ...read }
}

/** Reads the header of one block for all stages; the client has checked that the endpoint serves the chain. */
async function pinLatest(
  source: StagedSource,
  signal: AbortSignal,
): Promise<{ block: Block; pin: Pick<PinnedBlock, 'hash'>; ask: Ask }> {
  const { endpoint, chainId, multicall3 } = source
  // The lens does not answer a block hash.
  const { hash, ...block } = await readLatestBlock(endpoint, chainId, signal)
  const pin = { hash }
  const ask: Ask = (calls) =>
    calls.length === 0 ? Promise.resolve([]) : multicall(endpoint, { calls, block: pin, multicall3 }, signal)
  return { block, pin, ask }
}

function getManager(subject: LensContracts, index: number): Address {
  const manager = subject.deployments[index]?.manager
  if (manager === undefined) throw new UpstreamError(`Cannot find manager ${index}`)
  return manager
}
