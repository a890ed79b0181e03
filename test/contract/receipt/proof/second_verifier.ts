import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { MerklePatriciaTrie } from '@ethereumjs/mpt'
import { Caches, MerkleStateManager } from '@ethereumjs/statemanager'
import { Account, Address } from '@ethereumjs/util'
import { Glob } from 'bun'
import { bytesToHex, concatBytes, concatHex, fromRlp, type Hex, hexToBytes, keccak256, slice, toRlp, trim } from 'viem'
import type { Payload } from '../../../../src/receipt/payload.ts'

/** Where the library keeps codes in the database of a trie. */
const CODE_PREFIX = new TextEncoder().encode('c')
const [PARENT, ROOT, NUMBER, TIME] = [0, 3, 8, 11]

/** Nothing is written into a trie of which only parts are known. */
class ReadState extends MerkleStateManager {
  override async flush(): Promise<void> {}

  override async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this._caches?.storage?.put(address, key, toRlp(trim(value), 'bytes'))
  }
}

let lensesRead: Promise<ReadonlyMap<string, Hex>> | undefined

/**
 * What the calls of a proven receipt answer over its proof, by tries and states that are not ours. Nothing of `src` is
 * used but the code of its lenses.
 */
export async function answersBySecondVerifier({ reads, proofs = [] }: Payload): Promise<Hex[]> {
  lensesRead ??= lensesByHash()
  const lenses = await lensesRead
  const answers: Hex[] = []
  for (const [at, { chain_id, header, nodes, codes }] of proofs.entries()) {
    const fields = fromRlp(header, 'bytes')
    const field = (index: number) => fields[index] as Uint8Array
    if (keccak256(header) !== reads[at]?.block.hash) throw new Error('Expected the header of the block')
    for (const call of reads[at]?.calls ?? []) {
      const trie = new MerklePatriciaTrie({ root: field(ROOT), useKeyHashing: true })
      const database = trie.database()
      for (const node of nodes) await database.put(keccak256(node, 'bytes'), hexToBytes(node))
      for (const code of codes)
        await database.put(concatBytes([CODE_PREFIX, keccak256(code, 'bytes')]), hexToBytes(code))
      const common = createCustomCommon({ chainId: chain_id }, Mainnet, { hardfork: Hardfork.Osaka })
      const stateManager = new ReadState({ trie, common, caches: new Caches() })
      const lens = new Address(hexToBytes(`0x${'77'.repeat(20)}`))
      await stateManager.putAccount(lens, new Account())
      await stateManager.putCode(lens, hexToBytes(lenses.get(call.lens) ?? '0x'))
      for (const { address, code, storage = [] } of call.others ?? []) {
        const account = new Address(hexToBytes(address))
        if (code !== undefined)
          await stateManager.putCode(account, hexToBytes(getOtherCode(lenses.get(call.lens) ?? '0x', call.data, code)))
        for (const { slot, word } of storage) {
          await stateManager.putStorage(account, hexToBytes(slot), hexToBytes(trim(word)))
        }
      }
      const blockchain = {
        getBlock: async () => ({ hash: () => field(PARENT) }),
        putBlock: async () => {},
        shallowCopy: () => blockchain,
      }
      const evm = await createEVM({ common, stateManager, blockchain, allowUnlimitedContractSize: true })
      const { execResult } = await evm.runCall({
        to: lens,
        data: hexToBytes(call.data),
        gasLimit: BigInt(call.gas),
        skipNonceIncrement: true,
        block: {
          header: {
            number: BigInt(bytesToHex(field(NUMBER))),
            timestamp: BigInt(bytesToHex(field(TIME))),
            coinbase: new Address(new Uint8Array(20)),
            difficulty: 0n,
            prevRandao: new Uint8Array(32),
            gasLimit: 30_000_000n,
            getBlobGasPrice: () => 1n,
          },
        },
      })
      answers.push(bytesToHex(execResult.returnValue))
    }
  }
  return answers
}

/** The lens' own code; of a lender in an exit the wallet follows it, with which the call data begin. */
function getOtherCode(lens: Hex, data: Hex, hash: Hex): Hex {
  const candidates = [lens, concatHex([lens, slice(data, 0, 20)])]
  const code = candidates.find((each) => keccak256(each) === hash)
  if (code === undefined) throw new Error(`Cannot find the code ${hash}`)
  return code
}

async function lensesByHash(): Promise<ReadonlyMap<string, Hex>> {
  const root = `${import.meta.dir}/../../../../src/`
  const lenses = new Map<string, Hex>()
  for (const path of new Glob('**/lens_artifact.ts').scanSync(root)) {
    const { LENS_RUNTIME } = (await import(`${root}${path}`)) as { readonly LENS_RUNTIME: Hex }
    lenses.set(keccak256(LENS_RUNTIME), LENS_RUNTIME)
  }
  return lenses
}
