import { unsavedSecrets } from '../lib/unsaved.js'
import { html, useEffect, useState } from '../lib/view.js'
import { Copy } from './copy.js'

/** New secrets, each until the reader says that it is saved, whatever the page shows meanwhile. */
export function NewSecrets() {
  const [secrets, setSecrets] = useState(unsavedSecrets.list())
  useEffect(() => {
    setSecrets(unsavedSecrets.list())
    return unsavedSecrets.onChange(setSecrets)
  }, [])
  return html`<div class="new-secrets" role="status">${secrets.map(
    (each) => html`<div class="notice new-key" key=${each.secret}>
      <p class="notice-title">${each.title}. It is shown only once.</p>
      <p class="key-line"><code>${each.secret}</code><${Copy} text=${each.secret} label=${each.label} /></p>
      <p class="notice-end"><button type="button" class="small" onClick=${() => unsavedSecrets.remove(each)}>I have saved it</button></p>
    </div>`,
  )}</div>`
}
