import type { ComponentChildren } from 'preact'

interface SignedOutProps {
  readonly title: string
  readonly command: string
  /** This tab had a session. */
  readonly isEnded: boolean
  readonly children?: ComponentChildren
}

/** Content for readers without a session. */
export function SignedOut({ title, command, isEnded, children }: SignedOutProps) {
  return (
    <div class="welcome">
      <h1>{title}</h1>
      {isEnded && (
        <p class="lead" role="alert">
          The session of this tab has ended: it was signed out or is too old, or another account signed in in this
          browser.
        </p>
      )}
      <p class="lead">Sign in with a link that works once. Ask your operator for one, or run on the server:</p>
      <pre class="command" tabindex={0}>
        <code>{command}</code>
      </pre>
      {children && <p class="soft">{children}</p>}
      <p class="soft">A session belongs to one tab: a duplicated tab shares it; a new tab does not.</p>
    </div>
  )
}
