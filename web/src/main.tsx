import { render } from "preact";
render(<p>Nod</p>, document.getElementById("app")!);
