import { CodedError } from '../../lib/error.ts'
import type { AccountProtocol } from '../liquidity/protocol.ts'
import type { OrcaPosition } from './math/figures.ts'
import { OUTPUTS, presentPosition } from './present.ts'
import type { OrcaAbsence } from './read/find.ts'
import { BUDGET_MS, createOrcaReader, type OrcaSetting } from './read/read.ts'

/** Orca Whirlpools, whose positions are accounts that a wallet's tokens stand for. */
export const PROTOCOL: AccountProtocol<OrcaSetting, OrcaPosition, OrcaAbsence> = {
  name: 'orca-whirlpool',
  words: {
    exchange: 'Orca',
    operation: 'orca',
    title: 'Orca Whirlpools on Solana',
    noun: 'Orca liquidity position',
    idNote:
      "The id is the mint of the position's token, or its address. The wallet that holds the token must be named, " +
      'because public endpoints do not tell who holds it.',
  },
  budgetMs: BUDGET_MS,
  createReader: ({ solana, clock }, setting) => createOrcaReader({ solana, clock, ...setting }),
  presentPosition,
  explainAbsence(reason, { id, wallet }) {
    if (reason === 'bundle') {
      const message = 'expected one position, this is a bundle of them: /v1/positions/orca-whirlpool?wallet= lists them'
      return new CodedError('INVALID_PARAMETER', `Cannot read parameter "id": ${message}`)
    }
    return new CodedError('NOT_FOUND', `Cannot find Orca position ${id}: ${ABSENCES[reason](wallet)}`)
  },
  outputs: OUTPUTS,
}

const ABSENCES = {
  none: () => 'there is no such position, or it is closed and its token is gone',
  closed: () => 'it is closed or never was a position: the supply of this mint is 0',
  not_held: (wallet: string) => `wallet ${wallet} does not hold its token`,
} as const
