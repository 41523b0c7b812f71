module nod.example/clients/go

go 1.19
