import { type Hex, keccak256, zeroHash } from 'viem'
import { LENS_ADDRESS } from '../../chain/call/bundle/bundle.ts'
import { decodeHeader } from '../../chain/receipt/header.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import type { Work } from '../../lib/async/work.ts'
import { addProofNodes, readHeaderBytes } from './collect.ts'
import { createNodeSet, findTrieValue, isIncompleteProof } from './lookup.ts'

/**
 * Tests whether an endpoint can prove the state of a block, with an account that does not exist. Throws `ProofError`
 * if headers of the chain do not hash to their hash, else as `Endpoint.request`.
 */
export async function canProveBlock(endpoint: Endpoint, blockHash: Hex, work: Work): Promise<boolean> {
  const header = await readHeaderBytes(endpoint, blockHash, work)
  const nodes = new Set<Hex>()
  const parse = (result: unknown) => addProofNodes(nodes, result)
  const params = [LENS_ADDRESS, [zeroHash], { blockHash }]
  await endpoint.request({ method: 'eth_getProof', params, parse }, work)
  try {
    findTrieValue(createNodeSet([...nodes]), decodeHeader(header).stateRoot, keccak256(LENS_ADDRESS))
    return true
  } catch (error) {
    if (isIncompleteProof(error)) return false
    throw error
  }
}
