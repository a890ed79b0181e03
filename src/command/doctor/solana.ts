import { createSolanaClient, type SolanaClient, type SolanaSession } from '../../chain/solana/client.ts'
import { CLOCK_ADDRESS } from '../../chain/solana/clock.ts'
import { TOKEN_PROGRAM } from '../../chain/solana/token/program.ts'
import { ACCOUNT_KINDS, OBLIGATION_OWNER_AT } from '../../family/kamino/read/accounts/layout.ts'
import { KAMINO_MAINNET } from '../../finance/price/table/kamino.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'
import { decodeBase58Address } from '../../lib/text/base58.ts'
import type { Config } from '../../service/config/config.ts'
import type { Examination } from './evm.ts'
import { tryAnswer } from './past.ts'

/** Holds nothing: nobody has its key, and no program does. */
const NOBODY = CLOCK_ADDRESS
/** Time limit of one question, milliseconds. */
const QUESTION_MS = 10_000
const NOTHING_KNOWN = { listsTokenAccounts: undefined, searchesProgram: undefined }

/**
 * Asks one endpoint of Solana for the cluster's clock, which every read includes, for the token accounts of a wallet and
 * for obligations, as the lists of positions do: nodes leave the programs with the most accounts out of searches.
 */
export async function examineSolana(
  { rpcUrls, ...options }: Config['solana'],
  index: number,
  { clock, fetch, log, signal }: Examination,
): Promise<readonly Finding[]> {
  const client = createSolanaClient({ ...options, rpcUrls: rpcUrls.slice(index, index + 1), clock, log, fetch })
  const startedMs = clock.monotonicMs()
  try {
    const { slot, timestampSec } = await client.read((session) => session.accounts([]), { signal })
    const ms = Math.round(clock.monotonicMs() - startedMs)
    const ageSec = Math.round(clock.now() / 1_000 - Number(timestampSec))
    return [
      okFinding('answers', `in ${ms} ms`),
      okFinding('head', `slot ${slot}, ${ageSec} s old`),
      ...(await examineSearches(client, signal)),
    ]
  } catch (error) {
    if (signal.aborted) throw error
    const { cause } = error as { readonly cause?: unknown }
    const reason = cause instanceof Error ? cause.message : 'it gave no good answer in time'
    return [failureFinding('answers', reason, 'nothing is read from it')]
  } finally {
    client.close()
  }
}

async function examineSearches(client: SolanaClient, signal: AbortSignal): Promise<readonly Finding[]> {
  const { programId: program } = KAMINO_MAINNET
  const { size, discriminator } = ACCOUNT_KINDS.obligation
  const holds = [
    { at: 0, bytes: Buffer.from(discriminator, 'hex') },
    { at: OBLIGATION_OWNER_AT, bytes: decodeBase58Address(NOBODY) },
  ]
  const ask = <T>(work: (session: SolanaSession) => Promise<T>) =>
    tryAnswer(client.read(work, { signal, budgetMs: QUESTION_MS }), signal)
  await ask((session) => session.tokenAccounts(NOBODY, { program: TOKEN_PROGRAM }))
  await ask((session) => session.programAccounts({ program, size, holds }))
  const [{ listsTokenAccounts, searchesProgram } = NOTHING_KNOWN] = client.abilities(program)
  return [
    listsTokenAccounts === true
      ? okFinding('token accounts', 'listed')
      : warningFinding('token accounts', wordsOf(listsTokenAccounts), 'positions of a wallet are not found with it'),
    searchesProgram === true
      ? okFinding('program search', 'yes')
      : warningFinding(
          'program search',
          wordsOf(searchesProgram),
          'obligations of a wallet are found only where they usually are',
        ),
  ]
}

function wordsOf(offers: boolean | undefined): string {
  return offers === false ? 'refused' : 'no answer in time'
}
