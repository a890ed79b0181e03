import { createSolanaClient, type SolanaClient, type SolanaSession } from '../../chain/solana/client.ts'
import { CLOCK_ADDRESS } from '../../chain/solana/clock.ts'
import { TOKEN_PROGRAM } from '../../chain/solana/token.ts'
import type { Config } from '../../config/config.ts'
import { ACCOUNT_KINDS, OBLIGATION_OWNER_OFFSET } from '../../family/kamino/read/accounts/layout.ts'
import { KAMINO_MAINNET } from '../../finance/price/table/kamino.ts'
import type { Work } from '../../lib/async/work.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'
import { decodeBase58Address } from '../../lib/text/base58.ts'
import type { Examination } from './evm.ts'
import { tryAnswer } from './past.ts'

/** An address that owns nothing: neither a person nor a program has its key. */
const UNOWNED_ADDRESS = CLOCK_ADDRESS
/** Time limit of one request, milliseconds. */
const QUESTION_MS = 10_000
const UNKNOWN_ABILITIES = { listsTokenAccounts: undefined, searchesProgram: undefined }

/**
 * Examines one Solana endpoint: reads the cluster's clock, which every read includes, a wallet's token accounts and
 * obligations, as the lists of positions do. Nodes exclude the programs with the most accounts from searches.
 */
export async function examineSolana(
  { rpcUrls, ...options }: Config['solana'],
  index: number,
  { clock, log, work }: Examination,
): Promise<readonly Finding[]> {
  const client = createSolanaClient({ ...options, rpcUrls: rpcUrls.slice(index, index + 1), clock, log })
  const startedMs = clock.monotonicMs()
  try {
    const { slot, timestampSec } = await client.read((session) => session.accounts([]), { work })
    const ms = Math.round(clock.monotonicMs() - startedMs)
    const ageSec = Math.round(clock.now() / 1_000 - Number(timestampSec))
    return [
      okFinding('answers', `in ${ms} ms`),
      okFinding('head', `slot ${slot}, ${ageSec} s old`),
      ...(await examineSearches(client, work)),
    ]
  } catch (error) {
    if (work.signal.aborted) throw error
    const { cause } = error as { readonly cause?: unknown }
    const reason = cause instanceof Error ? cause.message : 'no valid answer in time'
    return [failureFinding('answers', reason, 'unusable')]
  } finally {
    client.close()
  }
}

async function examineSearches(client: SolanaClient, work: Work): Promise<readonly Finding[]> {
  const { programId: program } = KAMINO_MAINNET
  const { size, discriminator } = ACCOUNT_KINDS.obligation
  const holds = [
    { at: 0, bytes: Buffer.from(discriminator, 'hex') },
    { at: OBLIGATION_OWNER_OFFSET, bytes: decodeBase58Address(UNOWNED_ADDRESS) },
  ]
  const tryRead = <T>(task: (session: SolanaSession) => Promise<T>) =>
    tryAnswer(client.read(task, { work, budgetMs: QUESTION_MS }), work.signal)
  await tryRead((session) => session.tokenAccounts(UNOWNED_ADDRESS, { program: TOKEN_PROGRAM }))
  await tryRead((session) => session.programAccounts({ program, size, holds }))
  const [{ listsTokenAccounts, searchesProgram } = UNKNOWN_ABILITIES] = client.getCapabilities(program)
  return [
    listsTokenAccounts === true
      ? okFinding('token accounts', 'listed')
      : warningFinding('token accounts', formatRefusal(listsTokenAccounts), 'it cannot list positions of a wallet'),
    searchesProgram === true
      ? okFinding('program search', 'yes')
      : warningFinding(
          'program search',
          formatRefusal(searchesProgram),
          'obligations of a wallet are found only at their usual addresses',
        ),
  ]
}

function formatRefusal(offers: boolean | undefined): string {
  return offers === false ? 'refused' : 'no answer in time'
}
