import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM, type EVMOpts, type PrecompileInput } from '@ethereumjs/evm'
import { Account, Address } from '@ethereumjs/util'
import { bytesToHex, type Hex, hexToBytes, keccak256, numberToBytes, slice } from 'viem'
import { LENS_ADDRESS } from '../../chain/call/bundle/bundle.ts'
import { type BlockHeader, decodeHeader } from '../../chain/receipt/header.ts'
import type { ProofJob, ProofRun, ProvenCall } from './job.ts'
import { CallState, createProvenState, type ProvenState } from './state.ts'

/** A call reads data that no proof of a block's state contains; the message is the end of a sentence. */
export class UnprovableError extends Error {
  override readonly name = 'UnprovableError'
}

/** Precompile that gives block numbers and hashes on Arbitrum chains; its deployed code is a lone INVALID. */
const ARB_SYS: Hex = '0x0000000000000000000000000000000000000064'
const ARB_SYS_CODE_HASH: Hex = keccak256('0xfe')
const ARB_BLOCK_NUMBER: Hex = '0xa3b1b31d'
const ARB_BLOCK_HASH: Hex = '0x2b407a82'
/** Bytes of `mixHash` in which Arbitrum headers hold the height that the NUMBER opcode gives, which is Ethereum's. */
const HEIGHT_SEEN = [8, 16] as const

/** Runs calls over a proof alone. Throws `UnprovableError`, `MissingNodeError`, or if the proof is malformed. */
export async function runProof({ chainId, proof, calls, explores }: ProofJob): Promise<ProofRun> {
  const header = decodeHeader(proof.header)
  const base = createProvenState(proof, header.stateRoot, explores)
  const answers: (Hex | undefined)[] = []
  for (const call of calls) answers.push(await runCall(call, { chainId, header, base }))
  return { answers, missing: base.getMissing(), ...base.getUsed() }
}

interface RunContext {
  readonly chainId: number
  readonly header: BlockHeader
  readonly base: ProvenState
}

async function runCall(
  { runtime, data, gas }: ProvenCall,
  { chainId, header, base }: RunContext,
): Promise<Hex | undefined> {
  const state = new CallState(base)
  const lens = new Address(hexToBytes(LENS_ADDRESS))
  await state.putAccount(lens, new Account())
  await state.putCode(lens, hexToBytes(runtime))
  const arbSys = base.getAccount(ARB_SYS)
  const isArbitrum = arbSys !== undefined && bytesToHex(arbSys.codeHash) === ARB_SYS_CODE_HASH
  const [from, to] = HEIGHT_SEEN
  const height = isArbitrum ? BigInt(slice(header.mixHash, from, to)) : header.number
  const customPrecompiles: NonNullable<EVMOpts['customPrecompiles']> = isArbitrum
    ? [{ address: ARB_SYS, function: (input) => askArbSys(input, header) }]
    : []
  const evm = await createEVM({
    // The rules are those of Ethereum's newest fork: an older block's calls may give other bytes, which are refused.
    common: createCustomCommon({ chainId }, Mainnet, { hardfork: Hardfork.Osaka }),
    stateManager: state,
    blockchain: createBlockchain(height, header),
    customPrecompiles,
    allowUnlimitedContractSize: true,
  })
  const { execResult } = await evm.runCall({
    to: lens,
    data: hexToBytes(data),
    gasLimit: BigInt(gas),
    skipNonceIncrement: true,
    block: {
      header: {
        number: height,
        coinbase: new Address(hexToBytes(header.miner)),
        timestamp: header.timestampSec,
        difficulty: header.difficulty,
        prevRandao: hexToBytes(header.mixHash),
        gasLimit: header.gasLimit,
        baseFeePerGas: header.baseFee,
        getBlobGasPrice: () => {
          throw new UnprovableError('a contract asks for the fee of blobs')
        },
      },
    },
  })
  return execResult.exceptionError === undefined ? bytesToHex(execResult.returnValue) : undefined
}

/** Creates a blockchain with one hash, that of the parent: a header proves no other. */
function createBlockchain(height: bigint, { parentHash }: BlockHeader): NonNullable<EVMOpts['blockchain']> {
  return {
    async getBlock(number) {
      if (BigInt(number) !== height - 1n) throw new UnprovableError('a contract asks for the hash of an older block')
      return { hash: () => hexToBytes(parentHash) }
    },
    async putBlock() {},
    shallowCopy() {
      return this
    },
  }
}

/** Answers a call of ArbSys as Nitro does: https://docs.arbitrum.io/build-decentralized-apps/precompiles/reference */
function askArbSys({ data }: PrecompileInput, { number, parentHash }: BlockHeader) {
  const question = bytesToHex(data)
  const answer = (returnValue: Uint8Array) => ({ executionGasUsed: 0n, returnValue })
  if (question === ARB_BLOCK_NUMBER) return answer(numberToBytes(number, { size: 32 }))
  const isParentHashCall = question.startsWith(ARB_BLOCK_HASH) && BigInt(`0x${question.slice(10)}`) === number - 1n
  if (isParentHashCall) return answer(hexToBytes(parentHash))
  throw new UnprovableError('a contract asks ArbSys for what a header does not hold')
}
