import type { Answer } from '../lib/api.ts'
import { formatThousands } from '../lib/decimal.ts'
import { useAnswer, useSubmission } from '../lib/hooks.ts'
import type { LoginLink, OrganizationRow } from '../lib/shapes.ts'
import { formatMoment } from '../lib/time.ts'
import { classes, useState } from '../lib/view.ts'
import { Confirm } from '../part/confirm.tsx'
import { Copy } from '../part/copy.tsx'
import { DefinitionList } from '../part/figure.tsx'
import { Keys } from '../part/keys.tsx'
import { ChangeError, ErrorNotice, LoadingNotice } from '../part/notice.tsx'
import { Audit } from './audit.tsx'
import { BASE } from './base.ts'
import { Grants } from './grants.tsx'
import { LimitsForm } from './limits_form.tsx'

const STEPS: Record<string, { title: string; text: string; verb: string }> = {
  suspend: {
    title: 'Suspend',
    verb: 'Suspend it',
    text: 'From the next request on, every call of this organization is refused with 403 ACCOUNT_SUSPENDED, on every process. Its keys and credits stay.',
  },
  restore: { title: 'Restore', verb: 'Restore it', text: 'Its keys and credits work again from the next request on.' },
  delete: {
    title: 'Delete',
    verb: 'Delete it for good',
    text: 'Its keys stop working permanently. The log and the audit list stay. This cannot be taken back.',
  },
}

/** One organization: limits, state, credits and keys. */
export function Organization({ id }: { id: string }) {
  const path = `${BASE}/organizations/${encodeURIComponent(id)}`
  const { answer, again } = useAnswer<{ data: OrganizationRow }>(path)
  const [step, setStep] = useState<string | undefined>(undefined)
  if (answer === undefined) return <LoadingNotice>Reading the organization</LoadingNotice>
  if (!answer.ok)
    return (
      <>
        <p>
          <a href="#organizations">All organizations</a>
        </p>
        <ErrorNotice failure={answer} onRetry={again} />
      </>
    )
  const organization = answer.body.data
  const suspended = organization.suspended_at !== null
  const done = () => {
    setStep(undefined)
    if (step === 'delete') location.hash = 'organizations'
    else again()
  }
  return (
    <>
      <p class="crumbs">
        <a href="#organizations">All organizations</a>
      </p>
      <div class="family-head">
        <h2>{organization.name}</h2>
        <span class={classes('badge', suspended ? 'warn' : 'good')}>
          {organization.suspended_at === null ? 'active' : `suspended since ${formatMoment(organization.suspended_at)}`}
        </span>
      </div>
      <div class="columns">
        <div class="card">
          <h3>Credits</h3>
          <p class="total-value">{formatThousands(organization.balance)}</p>
          <DefinitionList
            rows={[
              ['Granted', formatThousands(organization.granted)],
              ['Spent', formatThousands(String(BigInt(organization.granted) - BigInt(organization.balance)))],
              [
                'Id',
                <>
                  <code>{id}</code>
                  <Copy text={id} label="Copy the id" />
                </>,
              ],
            ]}
          />
        </div>
        <div class="card">
          <h3>Name and limits</h3>
          <LimitsForm
            key={`${organization.name} ${organization.rate_limit} ${organization.trigger_limit}`}
            path={path}
            method="PATCH"
            organization={organization}
            label="Name"
            verb="Save"
            refused="It was not saved"
            onDone={again}
          />
          <p class="more">
            <button type="button" onClick={() => setStep(suspended ? 'restore' : 'suspend')}>
              {suspended ? 'Restore' : 'Suspend'}
            </button>
            <button type="button" class="danger" onClick={() => setStep('delete')}>
              Delete
            </button>
          </p>
          <CreateLoginLink id={id} />
        </div>
      </div>
      <section class="family" aria-label="Grants">
        <h2>Grants</h2>
        <div class="card">
          <Grants path={`${path}/grants`} onDone={again} />
        </div>
      </section>
      <section class="family" aria-label="Keys">
        <h2>Keys</h2>
        <div class="card">
          <Keys base={`${path}/keys`} suspended={suspended} />
        </div>
      </section>
      <Audit key={`${organization.balance} ${organization.suspended_at}`} organizationId={id} />
      {step && (
        <Confirm
          title={`${STEPS[step]?.title} "${organization.name}"?`}
          verb={STEPS[step]?.verb ?? ''}
          onClose={() => setStep(undefined)}
          onDone={done}
          request={step === 'delete' ? { path, method: 'DELETE' } : { path: `${path}/${step}`, method: 'POST' }}
        >
          <p>{STEPS[step]?.text}</p>
        </Confirm>
      )}
    </>
  )
}

/** Button that creates a one-time login link of the organization. */
function CreateLoginLink({ id }: { id: string }) {
  const [answer, setAnswer] = useState<Answer<{ data: LoginLink }> | undefined>(undefined)
  const { failure, submit } = useSubmission()
  const createLink = () =>
    submit({ path: `${BASE}/login-links`, method: 'POST', body: { organization_id: id } }, setAnswer)
  const { path = '', url = null } = answer?.body.data ?? {}
  const link = url ?? new URL(path.replace(/^\//, ''), document.baseURI).href
  return (
    <div>
      <button type="button" onClick={createLink}>
        Create a login link
      </button>
      {answer && (
        <>
          <p class="key-line" role="status">
            <code>{link}</code>
            <Copy text={link} label="Copy the link" />
          </p>
          <p class="soft">It works once, until {formatMoment(answer.body.data.expires_at)}.</p>
        </>
      )}
      {failure && <ChangeError failure={failure} refused="The link was not created" />}
    </div>
  )
}
