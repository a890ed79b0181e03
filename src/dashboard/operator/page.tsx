import { signOut } from '../lib/account.ts'
import { useAnswer, useHash, useSessionEnd } from '../lib/hooks.ts'
import { classes, useState } from '../lib/view.ts'
import { LoadedAnswer } from '../part/notice.tsx'
import { Shell } from '../part/shell.tsx'
import { SignedOut } from '../part/signed_out.tsx'
import { Audit } from './audit.tsx'
import { BASE } from './base.ts'
import { Chains } from './chains.tsx'
import { Histories } from './histories.tsx'
import { Organization } from './organization.tsx'
import { Organizations } from './organizations.tsx'
import { Switches } from './switches.tsx'
import { Triggers } from './triggers.tsx'

const TABS: readonly (readonly [string, string])[] = [
  ['organizations', 'Organizations'],
  ['switches', 'Switches'],
  ['chains', 'Chains'],
  ['triggers', 'Triggers'],
  ['audit', 'Audit'],
]

/** The operator's page. The fragment of the address selects the tab or the organization. */
export function OperatorPage() {
  const request = useAnswer(`${BASE}/session`)
  const { answer: session, again } = request
  const [fragment, setFragment] = useState(location.hash.slice(1))
  useHash(() => setFragment(location.hash.slice(1)))
  const isEnded = useSessionEnd()
  const leave = () => signOut(BASE).then(again)
  const aside = session?.ok && !isEnded && (
    <span class="key-state">
      <b>Operator</b>
      <button type="button" class="small" onClick={leave}>
        Sign out
      </button>
    </span>
  )
  return (
    <Shell page="Operator" pages={[['Operator', 'operator']]} aside={aside}>
      {drawContent()}
    </Shell>
  )

  function drawContent() {
    if (isEnded)
      return <SignedOut isEnded={session?.ok === true} title="The operator's page" command="walletscope login" />
    return (
      <LoadedAnswer request={request} waiting="Loading the session">
        {drawTabs}
      </LoadedAnswer>
    )
  }

  function drawTabs() {
    const [tab = '', id] = fragment.split('/')
    const here = TABS.some(([name]) => name === tab) ? tab : 'organizations'
    return (
      <>
        <h1 class="page-title">Operator</h1>
        <nav class="tabs" aria-label="Parts">
          {TABS.map(([name, text]) => (
            <a
              href={`#${name}`}
              class={classes(name === here && 'here')}
              aria-current={name === here ? 'page' : undefined}
            >
              {text}
            </a>
          ))}
        </nav>
        {here === 'organizations' && (id ? <Organization key={id} id={id} /> : <Organizations />)}
        {here === 'switches' && <Switches />}
        {here === 'chains' && (
          <>
            <Chains />
            <Histories />
          </>
        )}
        {here === 'triggers' && <Triggers />}
        {here === 'audit' && <Audit />}
      </>
    )
  }
}
