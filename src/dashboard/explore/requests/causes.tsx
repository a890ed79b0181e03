import type { Failure } from '../../lib/api.ts'
import type { Catalog } from '../../lib/catalog.ts'
import { chainName } from '../../lib/catalog.ts'
import { pluralize } from '../../lib/time.ts'
import { ErrorNotice } from '../../part/notice.tsx'
import type { RequestedPart } from './answers.ts'
import { FAMILY_NAMES, formatPartName } from './plan.ts'
import { isPending } from './polling.tsx'

type FailedPart = RequestedPart & { answer: Failure }

/** Failed parts, grouped by cause. */
interface Causes {
  /** Refused requests (4xx), one group per cause. */
  readonly refusals: readonly (readonly [FailedPart, ...FailedPart[]])[]
  /** Parts whose chain or endpoint is unavailable (5xx). */
  readonly outages: readonly FailedPart[]
}

/** True if a refusal says that there is nothing to read: no such position, or the protocol was not on the chain at that moment. */
export function isAbsence({ code, status, message }: Pick<Failure, 'code' | 'status' | 'message'>) {
  return code === 'NOT_FOUND' || (status === 400 && / was not deployed on chain /.test(message))
}

export function groupCauses(parts: readonly RequestedPart[]): Causes {
  const failed = parts.flatMap((part) => {
    const { answer } = part
    return answer?.ok === false && !isAbsence(answer) && !isPending(answer) ? [{ ...part, answer }] : []
  })
  const refusals = new Map<string, [FailedPart, ...FailedPart[]]>()
  for (const part of failed) {
    const { status, code, message } = part.answer
    if (status >= 500) continue
    const cause = status === 400 ? message : code
    refusals.set(cause, [part, ...(refusals.get(cause) ?? [])])
  }
  return { refusals: [...refusals.values()], outages: failed.filter(({ answer }) => answer.status >= 500) }
}

interface NoticesProps {
  readonly causes: Causes
  readonly parts: readonly RequestedPart[]
  readonly catalog: Catalog
  readonly again: (paths: readonly string[]) => void
}

/** One notice per cause. */
export function Notices({ causes: { refusals, outages }, parts, catalog, again }: NoticesProps) {
  return (
    <>
      {refusals.map((failed) => {
        const retry = () => again(failed.map(({ path }) => path))
        const title = failed.length === parts.length ? 'The wallet' : pluralize(failed.length, 'part')
        return <ErrorNotice failure={failed[0].answer} title={`${title} could not be read`} onRetry={retry} />
      })}
      {outages.length > 0 && <Outages failed={outages} parts={parts} catalog={catalog} again={again} />}
    </>
  )
}

interface OutagesProps {
  readonly failed: readonly FailedPart[]
  readonly parts: readonly RequestedPart[]
  readonly catalog: Catalog
  readonly again: (paths: readonly string[]) => void
}

/** All unavailable chains in one notice. */
function Outages({ failed, parts, catalog, again }: OutagesProps) {
  const ids = [...new Set(failed.map(({ chainId }) => chainId))]
  const names = ids.map((id) => {
    const ownFailures = failed.filter(({ chainId }) => chainId === id)
    if (ownFailures.length === parts.filter(({ chainId }) => chainId === id).length) return chainName(catalog, id)
    const families = [...new Set(ownFailures.map(({ family }) => FAMILY_NAMES[family]))]
    return `${chainName(catalog, id)} (${families.join(', ')})`
  })
  const what = ids.length === 1 ? `${names[0]} could not be read` : `${ids.length} chains could not be read`
  return (
    <div class="notice trouble away" role="alert">
      <p>
        <b>{what}</b>
        {ids.length > 1 && <span>{names.join(', ')}</span>}
        <button type="button" class="small" onClick={() => again(failed.map(({ path }) => path))}>
          {failed.length > 1 ? 'Try all again' : 'Try again'}
        </button>
      </p>
      <details>
        <summary>Why, and what helps</summary>
        <ul>
          {failed.map((part) => (
            <li>
              {formatPartName(catalog, part)}, {FAMILY_NAMES[part.family]}: {part.answer.message}
              <code>
                {part.answer.status} {part.answer.code}
              </code>{' '}
              <code>{part.answer.requestId}</code>
            </li>
          ))}
        </ul>
        <p class="soft">
          The chain or its endpoint cannot answer right now; nothing was charged. The operator sees which with
          walletscope doctor.
        </p>
      </details>
    </div>
  )
}
